/* dropline_trace.h: tracepoints for C and C++ programs on Linux, in one header.
 *
 * In one source file of the program:
 *
 *     #define DROPLINE_TRACE_IMPLEMENTATION
 *     #include "dropline_trace.h"
 *
 * and in the others only the include. Then
 *
 *     dropline_tx(pipe, n);                 granule n (from 1) leaves the source of a pipe
 *     dropline_rx(pipe, n);                 granule n has reached its sink
 *     dropline_in_flight(pipe, samples);    a sampler saw so many samples between both ends
 *     dropline_event(number, which, a, b);  an event of the program's own
 *     DROPLINE_PROBE("parse");              a place where an experimenter can add a delay
 *
 * A program records when the environment variable DROPLINE_TRACE names a session's file, which the collector makes.
 * Off, a tracepoint is one load and one branch that always goes the same way (two more loads where a session stands
 * still); with DROPLINE_TRACE_SILENT defined it is nothing. On, it is one read of the clock and 32 bytes into the thread's
 * own ring; it never waits, allocates or fails.
 *
 * Where DROPLINE_LTTNG names LTTng's provider (c/trace/lttng), it is loaded and gets the same events: one program works
 * with and without LTTng.
 *
 * How a session lies in memory is stated in crates/trace/src/layout.rs; both follow it.
 * C11 or C++11 with the atomic builtins of GCC and clang; link with -pthread (and -ldl before glibc 2.34).
 */
#ifndef DROPLINE_TRACE_H
#define DROPLINE_TRACE_H

/* What the implementation needs of POSIX and Linux, -std=c11 hides. */
#if defined(DROPLINE_TRACE_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <stdint.h>
#if defined(DROPLINE_TRACE_IMPLEMENTATION) && defined(__GLIBC__) && !defined(__USE_GNU)
#error "include dropline_trace.h before any header of the system, or compile with -D_GNU_SOURCE"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What the reader and the writer of a ring share, each on cache lines of its own. */
struct dropline_counters {
    uint64_t head, discarded;
    uint32_t thread, taken;
    uint64_t writer_line[13];
    uint64_t tail;
    uint64_t reader_line[15];
};

/* A thread's own ring; NULL slots: it has none. */
struct dropline_local {
    struct dropline_counters *counters;
    uint64_t *slots;
    uint64_t head, tail, capacity;
    int overwrites, counter_is_clock, settled, lttng_too;
};

struct dropline_probe {
    const char *name;
    uint64_t *entry; /* NULL: it was not asked for yet, or there is no session */
    uint32_t number, asked;
};

/* Whether there may be anything to record to; the flag that says whether tracepoints record now. */
extern uint32_t dropline_may_record;
extern const uint32_t *dropline_recording;
extern __thread struct dropline_local dropline_here;
void dropline_settle(void);
/* Joins the session that the environment names; 1 if tracepoints record now. The first event does it by itself; call it
 * before the threads start, so that no event of theirs does. */
int dropline_join(void);
void dropline_to_lttng(uint64_t kind, uint32_t pipe, uint64_t n, uint64_t extra);
void dropline_probe_delay(struct dropline_probe *probe);
uint64_t dropline_monotonic_ns(void);

static inline int dropline_is_on(void)
{
    return __builtin_expect(__atomic_load_n(&dropline_may_record, __ATOMIC_RELAXED) != 0, 0)
        && __atomic_load_n(__atomic_load_n(&dropline_recording, __ATOMIC_RELAXED), __ATOMIC_RELAXED) != 0;
}

static inline uint64_t dropline_ticks(int counter_is_clock)
{
#if defined(__x86_64__)
    if (counter_is_clock)
        return __builtin_ia32_rdtsc();
#endif
    (void)counter_is_clock;
    return dropline_monotonic_ns();
}

static inline void dropline_write(uint64_t kind, uint32_t pipe, uint64_t n, uint64_t extra)
{
#ifndef DROPLINE_TRACE_SILENT
    struct dropline_local *here;
    uint64_t ticks, *slot;
    if (!dropline_is_on())
        return;
    here = &dropline_here;
    if (__builtin_expect(here->slots == 0, 0)) {
        dropline_settle();
        if (here->slots == 0) {
            dropline_to_lttng(kind, pipe, n, extra);
            return;
        }
    }
    if (__builtin_expect(here->lttng_too, 0))
        dropline_to_lttng(kind, pipe, n, extra);
    ticks = dropline_ticks(here->counter_is_clock);
    if (here->overwrites) {
        __atomic_thread_fence(__ATOMIC_RELEASE);
    } else if (here->head - here->tail >= here->capacity) {
        here->tail = __atomic_load_n(&here->counters->tail, __ATOMIC_ACQUIRE);
        if (here->head - here->tail >= here->capacity) {
            __atomic_store_n(&here->counters->discarded, here->counters->discarded + 1, __ATOMIC_RELAXED);
            return;
        }
    }
    slot = here->slots + 4 * (here->head & (here->capacity - 1));
    __atomic_store_n(slot, ticks, __ATOMIC_RELAXED);
    __atomic_store_n(slot + 1, kind | (uint64_t)pipe << 32, __ATOMIC_RELAXED);
    __atomic_store_n(slot + 2, n, __ATOMIC_RELAXED);
    __atomic_store_n(slot + 3, extra, __ATOMIC_RELAXED);
    here->head += 1;
    __atomic_store_n(&here->counters->head, here->head, __ATOMIC_RELEASE);
#else
    (void)kind, (void)pipe, (void)n, (void)extra;
#endif
}

/* Granule n, from 1, leaves the source of a pipe. Call it before the granule is handed on. */
static inline void dropline_tx(uint32_t pipe, uint64_t n)
{
    dropline_write(1, pipe, n, 0);
}

/* Granule n, from 1, has reached the sink of a pipe. */
static inline void dropline_rx(uint32_t pipe, uint64_t n)
{
    dropline_write(2, pipe, n, 0);
}

/* So many samples are in a pipe now, between its source and its sink. */
static inline void dropline_in_flight(uint32_t pipe, uint64_t samples)
{
    dropline_write(4, pipe, samples, 0);
}

/* Counts samples at one end of a pipe: struct dropline_granules sent = DROPLINE_GRANULES(32768); */
struct dropline_granules {
    uint64_t size, left, n;
};
#define DROPLINE_GRANULES(samples) {(samples), (samples), 0}

/* So many samples leave the source of a pipe; an event for each boundary of a granule that they cross. */
static inline void dropline_tx_samples(struct dropline_granules *sent, uint32_t pipe, uint64_t samples)
{
    for (; samples >= sent->left; sent->left = sent->size) {
        samples -= sent->left;
        dropline_tx(pipe, ++sent->n);
    }
    sent->left -= samples;
}

/* So many samples have reached the sink of a pipe. */
static inline void dropline_rx_samples(struct dropline_granules *received, uint32_t pipe, uint64_t samples)
{
    for (; samples >= received->left; received->left = received->size) {
        samples -= received->left;
        dropline_rx(pipe, ++received->n);
    }
    received->left -= samples;
}

/* An event of the program's own: `number` says which, below 2^32 - 16; the rest is the program's. */
static inline void dropline_event(uint32_t number, uint32_t which, uint64_t first, uint64_t second)
{
    dropline_write((uint64_t)(uint32_t)(number + 16u), which, first, second);
}

/* Passes a place; where a delay was asked for, waits it out awake and records what it really was. */
static inline void dropline_cross(struct dropline_probe *probe)
{
#ifndef DROPLINE_TRACE_SILENT
    if (dropline_is_on())
        dropline_probe_delay(probe);
#else
    (void)probe;
#endif
}

#define DROPLINE_PROBE(probe_name)                                             \
    do {                                                                       \
        static struct dropline_probe dropline_probe_here = {probe_name, 0, 0, 0}; \
        dropline_cross(&dropline_probe_here);                                  \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif /* DROPLINE_TRACE_H */

#if defined(DROPLINE_TRACE_IMPLEMENTATION) && !defined(DROPLINE_TRACE_IMPLEMENTED)
#define DROPLINE_TRACE_IMPLEMENTED

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first page of a session. */
struct dropline_head {
    uint64_t magic;
    uint32_t rings, when_full;
    uint64_t capacity;
    uint32_t clock, recording, probes, attached;
    uint64_t homeless;
};

enum { DROPLINE_PAGE = 4096, DROPLINE_PROBES = 64, DROPLINE_ENTRY = 64, DROPLINE_COUNTERS = 256, DROPLINE_EVENT = 32 };

static const uint32_t dropline_unasked = 1, dropline_off = 0, dropline_ask_lttng = 1;
uint32_t dropline_may_record = 1;
const uint32_t *dropline_recording = &dropline_unasked;
__thread struct dropline_local dropline_here;

static struct dropline_head *dropline_session; /* NULL: none */
static struct dropline_head dropline_facts;    /* what its head said when it was checked: others can write there */
static pthread_once_t dropline_asked = PTHREAD_ONCE_INIT;
static pthread_key_t dropline_lease;
static void (*dropline_lttng_writes)(uint64_t, uint32_t, uint64_t, uint64_t); /* NULL: without LTTng */
static int (*dropline_lttng_is_recording)(void);
static pthread_mutex_t dropline_probing = PTHREAD_MUTEX_INITIALIZER;

uint64_t dropline_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A thread ends: what it wrote stays, its ring is the next one's. */
static void dropline_give_back(void *counters)
{
    dropline_here.slots = 0;
    dropline_here.settled = 1;
    __atomic_store_n(&((struct dropline_counters *)counters)->taken, 0u, __ATOMIC_RELEASE);
}

/* Bytes of a session of this shape; 0 if that is none. */
static uint64_t dropline_bytes(const struct dropline_head *head)
{
    uint64_t slots_at, all;
    if (head->rings == 0 || head->rings > 4096 || head->capacity == 0 || (head->capacity & (head->capacity - 1)) != 0)
        return 0;
    slots_at = DROPLINE_PAGE + DROPLINE_PROBES * DROPLINE_ENTRY + (uint64_t)head->rings * DROPLINE_COUNTERS;
    slots_at = (slots_at + DROPLINE_PAGE - 1) / DROPLINE_PAGE * DROPLINE_PAGE;
    if (head->capacity > (UINT64_MAX / 2 - slots_at) / DROPLINE_EVENT / head->rings)
        return 0;
    all = slots_at + head->capacity * head->rings * DROPLINE_EVENT;
    return all;
}

/* Loads LTTng's provider, if the environment names one that can be loaded. */
static void dropline_load_lttng(void)
{
    const char *path = getenv("DROPLINE_LTTNG");
    void *library = path == 0 ? 0 : dlopen(path, RTLD_NOW);
    void *writes, *records;
    if (library == 0)
        return;
    writes = dlsym(library, "dropline_lttng_write");
    records = dlsym(library, "dropline_lttng_records");
    if (writes == 0 || records == 0)
        return;
    /* ISO C has no conversion from data to function pointers; every system with dlsym has. */
    __builtin_memcpy(&dropline_lttng_writes, &writes, sizeof writes);
    __builtin_memcpy(&dropline_lttng_is_recording, &records, sizeof records);
}

void dropline_to_lttng(uint64_t kind, uint32_t pipe, uint64_t n, uint64_t extra)
{
    if (dropline_lttng_writes != 0)
        dropline_lttng_writes(kind, pipe, n, extra);
}

static void dropline_ask(void)
{
    const char *path = getenv("DROPLINE_TRACE");
    struct dropline_head head;
    struct stat status;
    void *memory = MAP_FAILED;
    int file = path == 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
    dropline_load_lttng();
    if (file >= 0) {
        if (read(file, &head, sizeof head) == (ssize_t)sizeof head && head.magic == 0x3145434152544c44u
            && head.when_full <= 1 && head.clock >= 1 && head.clock <= 2 && dropline_bytes(&head) != 0
            && fstat(file, &status) == 0 && (uint64_t)status.st_size == dropline_bytes(&head))
            memory = mmap(0, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
        close(file);
    }
    if (memory == MAP_FAILED || pthread_key_create(&dropline_lease, dropline_give_back) != 0) {
        __atomic_store_n(&dropline_recording, dropline_lttng_writes != 0 ? &dropline_ask_lttng : &dropline_off,
            __ATOMIC_RELEASE);
        if (dropline_lttng_writes == 0)
            __atomic_store_n(&dropline_may_record, 0u, __ATOMIC_RELAXED);
        return;
    }
    dropline_facts = head;
    dropline_session = (struct dropline_head *)memory;
    __atomic_fetch_add(&dropline_session->attached, 1u, __ATOMIC_RELAXED);
    __atomic_store_n(&dropline_recording, &dropline_session->recording, __ATOMIC_RELEASE);
}

int dropline_join(void)
{
    pthread_once(&dropline_asked, dropline_ask);
    if (dropline_session == 0 && dropline_lttng_is_recording != 0)
        return dropline_lttng_is_recording();
    return dropline_is_on();
}

/* A thread's first event: it takes a ring that nobody writes to. */
void dropline_settle(void)
{
    unsigned char *memory;
    uint32_t ring;
    pthread_once(&dropline_asked, dropline_ask);
    if (dropline_session == 0 || __atomic_load_n(&dropline_session->recording, __ATOMIC_RELAXED) == 0)
        return;
    memory = (unsigned char *)dropline_session;
    for (ring = 0; !dropline_here.settled && ring < dropline_facts.rings; ring++) {
        struct dropline_counters *counters = (struct dropline_counters *)(memory + DROPLINE_PAGE
            + DROPLINE_PROBES * DROPLINE_ENTRY + (size_t)ring * DROPLINE_COUNTERS);
        uint32_t free_ring = 0;
        uint64_t end = dropline_bytes(&dropline_facts), each = dropline_facts.capacity * DROPLINE_EVENT;
        if (!__atomic_compare_exchange_n(&counters->taken, &free_ring, 1u, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        counters->thread = (uint32_t)syscall(SYS_gettid);
        dropline_here.counters = counters;
        dropline_here.head = __atomic_load_n(&counters->head, __ATOMIC_ACQUIRE);
        dropline_here.tail = __atomic_load_n(&counters->tail, __ATOMIC_ACQUIRE);
        dropline_here.capacity = dropline_facts.capacity;
        dropline_here.overwrites = dropline_facts.when_full == 1;
        dropline_here.counter_is_clock = dropline_facts.clock == 1;
        dropline_here.lttng_too = dropline_lttng_writes != 0;
        dropline_here.slots = (uint64_t *)(memory + end - each * (dropline_facts.rings - ring));
        pthread_setspecific(dropline_lease, counters);
        return;
    }
    dropline_here.settled = 1;
    __atomic_fetch_add(&dropline_session->homeless, 1u, __ATOMIC_RELAXED);
}

/* The probe's entry in the session's table, by its first crossing. */
static void dropline_register(struct dropline_probe *probe)
{
    uint64_t *entry = 0;
    pthread_mutex_lock(&dropline_probing);
    if (!__atomic_load_n(&probe->asked, __ATOMIC_RELAXED)) {
        if (dropline_session != 0) {
            probe->number = __atomic_fetch_add(&dropline_session->probes, 1u, __ATOMIC_RELAXED);
            if (probe->number < DROPLINE_PROBES) {
                unsigned char *at = (unsigned char *)dropline_session + DROPLINE_PAGE + probe->number * DROPLINE_ENTRY;
                unsigned letter;
                for (letter = 0; letter < 40 && probe->name[letter] != 0; letter++)
                    at[16 + letter] = (unsigned char)probe->name[letter];
                __atomic_store_n((uint32_t *)(at + 8), 1u, __ATOMIC_RELEASE);
                entry = (uint64_t *)at;
            }
        }
        probe->entry = entry;
        __atomic_store_n(&probe->asked, 1u, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&dropline_probing);
}

void dropline_probe_delay(struct dropline_probe *probe)
{
    uint64_t wanted, begun, begun_ns;
    int counter_is_clock;
    pthread_once(&dropline_asked, dropline_ask);
    if (!__atomic_load_n(&probe->asked, __ATOMIC_ACQUIRE))
        dropline_register(probe);
    if (probe->entry == 0)
        return;
    wanted = __atomic_load_n(probe->entry, __ATOMIC_RELAXED);
    if (wanted == 0)
        return;
    /* Awake: a sleep would give the CPU away, which is another experiment. */
    counter_is_clock = dropline_session->clock == 1;
    begun = dropline_ticks(counter_is_clock);
    begun_ns = dropline_monotonic_ns();
    while (dropline_monotonic_ns() - begun_ns < wanted) {
    }
    dropline_write(3, probe->number, dropline_ticks(counter_is_clock) - begun, 0);
}

#ifdef __cplusplus
}
#endif

#endif /* DROPLINE_TRACE_IMPLEMENTATION */
