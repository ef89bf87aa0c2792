/* Heartbeat: see heartbeat.h for what the functions promise and SPEC.md for the bytes.
 *
 * One source, four ways to the same results:
 *   HB_FAST=1      a heartbeat is checked by the closed form of its checksum, a report is summed without a branch;
 *   HB_FAST=0      for size: one loop sums the 4 bytes of a heartbeat and all bytes of a report, and
 *     HB_WORDS=1   words are loaded from any address (x86, ARMv7 and newer), or
 *     HB_WORDS=0   bytes are compared and stored one by one (ARMv6-M, RISC-V), or
 *     HB_NARROW=1  bytes one by one and sums of 16 bits, for registers of 8 (AVR).
 * The defaults follow the compiler; each can be set from outside.
 */
#include "heartbeat.h"

#ifndef HB_NARROW
#ifdef __AVR__
#define HB_NARROW 1
#else
#define HB_NARROW 0
#endif
#endif

#if HB_NARROW
#undef HB_FAST
#define HB_FAST 0 /* 32-bit sums would be slower there, and call a library */
#elif !defined(HB_FAST)
#ifdef __OPTIMIZE_SIZE__
#define HB_FAST 0
#else
#define HB_FAST 1
#endif
#endif

#if defined(__riscv) && !defined(__riscv_mul)
#define HB_MULTIPLY 0 /* it would call a library */
#else
#define HB_MULTIPLY 1
#endif

#ifndef HB_WORDS
#if HB_NARROW
#define HB_WORDS 0
#elif defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || defined(__ARM_FEATURE_UNALIGNED)
#define HB_WORDS 1
#else
#define HB_WORDS 0
#endif
#endif

#if defined(__GNUC__)
#define HB_INLINE static inline __attribute__((__always_inline__))
/* The compiler forgets how x was computed, and so keeps it in a register instead of reading its bytes again. */
#define HB_KEEP(x) __asm__("" : "+r"(x))
#else
#define HB_INLINE static inline
#define HB_KEEP(x) ((void)0)
#endif

#define HB_MAGIC 0xf1u
#define HB_MODULUS 65521u
#define HB_ENTRIES (4u * HB_VARIABLES)
/* "Arey" and "ouOK". */
#define HB_REQUEST_HIGH 0x41726579u
#define HB_REQUEST_LOW 0x6f754f4bu

#if HB_NARROW

/* The halves of an Adler-32, or of an entry: seconds, and from and value. */
typedef struct hb_word {
    uint16_t high, low;
} hb_word;

/* The Adler-32 of `count` bytes, 0 for 256. The low sum stays below 65282; when the high one passes 2^16, the lost
 * carry is worth 15. */
HB_INLINE hb_word hb_sum(const uint8_t *p, uint8_t count)
{
    hb_word sum = {0, 1};
    do {
        sum.low = (uint16_t)(sum.low + *p++);
        sum.high = (uint16_t)(sum.high + sum.low);
        if (sum.high < sum.low) {
            sum.high = (uint16_t)(sum.high + 15u);
        }
    } while (--count);
    if (sum.high >= HB_MODULUS) {
        sum.high = (uint16_t)(sum.high - HB_MODULUS);
    }
    return sum;
}

HB_INLINE uint8_t hb_differs(const uint8_t *p, hb_word word)
{
    return (uint8_t)((uint8_t)(p[0] ^ (uint8_t)(word.high >> 8)) | (uint8_t)(p[1] ^ (uint8_t)word.high) |
                     (uint8_t)(p[2] ^ (uint8_t)(word.low >> 8)) | (uint8_t)(p[3] ^ (uint8_t)word.low));
}

HB_INLINE void hb_store(uint8_t *p, hb_word word)
{
    p[0] = (uint8_t)(word.high >> 8);
    p[1] = (uint8_t)word.high;
    p[2] = (uint8_t)(word.low >> 8);
    p[3] = (uint8_t)word.low;
}

HB_INLINE hb_word hb_pair(uint16_t high, unsigned low)
{
    hb_word word;
    word.high = high;
    word.low = (uint16_t)low;
    return word;
}

#else

typedef uint32_t hb_word;

/* Joins the sums of up to 256 bytes: a below 65282, b below 2^23.1, where only b can exceed the modulus. Each compiler
 * has the form that it makes least of. */
#ifdef __clang__
/* 2^16 is 15 modulo 65521, so the upper bits fold down; then at most one modulus is left, and to take it away is to add
 * 15 and to forget the carry, as the shift does. */
#define HB_START 0u
HB_INLINE hb_word hb_join(uint32_t b, uint32_t a)
{
    b = (b & 0xffffu) + 15u * (b >> 16);
    if (b >= HB_MODULUS) {
        b += 15u;
    }
    return b << 16 | a;
}
#else
/* b starts at 15: so it has upper bits exactly when the sum has reached the modulus. At most two rounds; none for a
 * heartbeat. */
#define HB_START 15u
HB_INLINE hb_word hb_join(uint32_t b, uint32_t a)
{
    while (b >> 16) {
        b -= HB_MODULUS * (b >> 16);
    }
    return (b << 16) + a - (15u << 16);
}
#endif

/* The Adler-32 of `count` bytes, 0 for 256. */
HB_INLINE hb_word hb_sum(const uint8_t *p, uint8_t count)
{
    uint32_t a = 1, b = HB_START;
#if HB_FAST && HB_MULTIPLY
    /* A byte counts in b as often as there are bytes from it to the end: a sum in any order, so in vectors. */
    const uint32_t bytes = count ? count : 256;
    uint32_t i;
    for (i = 0; i < bytes; i++) {
        a += p[i];
        b += (bytes - i) * p[i];
    }
    b += bytes;
#else
    do {
        a += *p++;
        b += a;
    } while (--count);
#endif
    return hb_join(b, a);
}

HB_INLINE hb_word hb_pair(uint16_t high, unsigned low)
{
    return (uint32_t)high << 16 | low;
}

#if HB_FAST || HB_WORDS

HB_INLINE hb_word hb_load(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

HB_INLINE uint8_t hb_differs(const uint8_t *p, hb_word word)
{
    return hb_load(p) != word;
}

HB_INLINE void hb_store(uint8_t *p, hb_word word)
{
    p[0] = (uint8_t)(word >> 24);
    p[1] = (uint8_t)(word >> 16);
    p[2] = (uint8_t)(word >> 8);
    p[3] = (uint8_t)word;
}

#else

HB_INLINE uint8_t hb_differs(const uint8_t *p, hb_word word)
{
    uint8_t count = 4;
    p += 4;
    do {
        if (*--p != (uint8_t)word) {
            return 1;
        }
        word >>= 8;
    } while (--count);
    return 0;
}

HB_INLINE void hb_store(uint8_t *p, hb_word word)
{
    uint8_t *end = p + 4;
    do {
        *--end = (uint8_t)word;
        word >>= 8;
    } while (end != p);
}

#endif
#endif

/* Each byte is read exactly once, whatever an interrupt does meanwhile, and no compiler makes a memcpy of it. */
HB_INLINE void hb_copy(uint8_t *reply, const uint8_t *report)
{
    const volatile uint8_t *from = report + 4;
    uint8_t *to = reply + 4;
    do {
        *to++ = *from++;
    } while (to != reply + HB_REPORT);
}

#if HB_NARROW || !(HB_FAST || HB_WORDS)

/* On AVR constants would take RAM and code to fill it, so these stay in flash. */
#if defined(__AVR__) && defined(__AVR_HAVE_LPMX__)
#define HB_ROM __attribute__((__progmem__))
#define HB_READ(c, p) __asm__("lpm %0, %a1+" : "=r"(c), "+z"(p))
#else
#define HB_ROM
#define HB_READ(c, p) ((c) = *(p)++)
#endif

static const uint8_t hb_request[HB_PACKET] HB_ROM = {0x41, 0x72, 0x65, 0x79, 0x6f, 0x75, 0x4f, 0x4b};

HB_INLINE uint8_t hb_is_request(const uint8_t *packet)
{
    const uint8_t *expected = hb_request;
    uint8_t c;
    do {
        HB_READ(c, expected);
        if (*packet++ != c) {
            return 0;
        }
    } while (expected != hb_request + HB_PACKET);
    return 1;
}

#endif

/* hb_step handles a packet: a heartbeat goes into `report`, a report is sealed in `reply`, which may be `report`. */

#if HB_FAST

HB_INLINE hb_result hb_step(uint8_t *report, uint16_t now, const uint8_t *packet, size_t packet_len, uint8_t *reply)
{
    uint32_t high, low;
    uint8_t variable;
    if (packet_len != HB_PACKET) {
        return HB_IGNORED;
    }
    high = hb_load(packet);
    low = hb_load(packet + 4);
    HB_KEEP(high);
    HB_KEEP(low);
    variable = (uint8_t)(low >> 16);
    if (low >> 24 == HB_MAGIC) {
        if (high != 0x03c800f2u + 0x30001u * variable + 0x20001u * (low >> 8 & 0xffu) + 0x10001u * (low & 0xffu)) {
            return HB_IGNORED;
        }
        if (variable >= HB_VARIABLES) {
            return HB_IGNORED;
        }
        hb_store(report + 4 + 4u * variable, (uint32_t)now << 16 | (low & 0xffffu));
        return HB_STORED;
    }
    if (high != HB_REQUEST_HIGH || low != HB_REQUEST_LOW) {
        return HB_IGNORED;
    }
    if (reply != report) {
        hb_copy(reply, report);
    }
    hb_store(reply, hb_sum(reply + 4, (uint8_t)HB_ENTRIES));
    return HB_REPORT_READY;
}

#elif HB_WORDS

HB_INLINE hb_result hb_step(uint8_t *report, uint16_t now, const uint8_t *packet, size_t packet_len, uint8_t *reply)
{
    const uint8_t *summed = reply + 4;
    uint8_t count = (uint8_t)HB_ENTRIES;
    hb_result result = HB_REPORT_READY;
    uint32_t high, low, word;
    uint8_t variable;
    if (packet_len != HB_PACKET) {
        return HB_IGNORED;
    }
    high = hb_load(packet);
    low = hb_load(packet + 4);
    HB_KEEP(high);
    HB_KEEP(low);
    if (low >> 24 == HB_MAGIC) {
        summed = packet + 4;
        count = 4;
    } else if (high != HB_REQUEST_HIGH || low != HB_REQUEST_LOW) {
        return HB_IGNORED;
    } else if (reply != report) {
        hb_copy(reply, report);
    }
    word = hb_sum(summed, count);
    if (low >> 31) { /* of the two packets that are left, only the heartbeat has this bit */
        if (word != high) {
            return HB_IGNORED;
        }
        variable = (uint8_t)(low >> 16);
        if (variable >= HB_VARIABLES) {
            return HB_IGNORED;
        }
        reply = report + 4 + 4u * variable;
        word = (uint32_t)now << 16 | (low & 0xffffu);
        result = HB_STORED;
    }
    hb_store(reply, word);
    return result;
}

#else

HB_INLINE hb_result hb_step(uint8_t *report, uint16_t now, const uint8_t *packet, size_t packet_len, uint8_t *reply)
{
    const uint8_t *summed;
    uint8_t count;
    hb_result result;
    hb_word word;
    uint8_t variable;
    if (packet_len != HB_PACKET) {
        return HB_IGNORED;
    }
    if (packet[4] == HB_MAGIC) {
        summed = packet + 4;
        count = 4;
        result = HB_STORED;
    } else {
        if (!hb_is_request(packet)) {
            return HB_IGNORED;
        }
        if (reply != report) {
            hb_copy(reply, report);
        }
        summed = reply + 4;
        count = (uint8_t)HB_ENTRIES;
        result = HB_REPORT_READY;
    }
    word = hb_sum(summed, count);
    if (result == HB_STORED) {
        if (hb_differs(packet, word)) {
            return HB_IGNORED;
        }
        variable = packet[5];
        if (variable >= HB_VARIABLES) {
            return HB_IGNORED;
        }
        reply = report + 4u * (variable + 1u);
        word = hb_pair(now, (unsigned)packet[6] << 8 | packet[7]);
    }
    hb_store(reply, word);
    return result;
}

#endif

hb_result hb_handle(hb_table *table, uint16_t now, const uint8_t *packet, size_t packet_len)
{
    return hb_step(table->report, now, packet, packet_len, table->report);
}

hb_result hb_handle_copy(hb_table *table, uint16_t now, const uint8_t *packet, size_t packet_len,
                         uint8_t reply[HB_REPORT])
{
    return hb_step(table->report, now, packet, packet_len, reply);
}

void hb_encode_heartbeat(uint8_t packet[HB_PACKET], uint8_t variable, uint8_t from, uint8_t value)
{
    /* The low sum after each byte; the high one is their sum. None of them can reach the modulus. */
    const uint16_t magic = 1u + HB_MAGIC;
    const uint16_t second = (uint16_t)(magic + variable);
    const uint16_t third = (uint16_t)(second + from);
    const uint16_t last = (uint16_t)(third + value);
    hb_store(packet, hb_pair((uint16_t)(magic + second + third + last), last));
    packet[4] = (uint8_t)HB_MAGIC;
    packet[5] = variable;
    packet[6] = from;
    packet[7] = value;
}

void hb_encode_request(uint8_t packet[HB_PACKET])
{
    hb_store(packet, hb_pair(HB_REQUEST_HIGH >> 16, HB_REQUEST_HIGH & 0xffffu));
    hb_store(packet + 4, hb_pair(HB_REQUEST_LOW >> 16, HB_REQUEST_LOW & 0xffffu));
}

uint8_t hb_check_report(const uint8_t *report, size_t report_len)
{
    if (report_len < 8 || report_len > 260 || report_len % 4 != 0) {
        return 0;
    }
    if (hb_differs(report, hb_sum(report + 4, (uint8_t)(report_len - 4)))) {
        return 0;
    }
    return (uint8_t)(report_len / 4 - 1);
}

hb_entry hb_read_entry(const uint8_t *report, uint8_t variable)
{
    const uint8_t *p = report + 4 + 4u * variable;
    hb_entry entry;
    entry.seconds = (uint16_t)(p[0] << 8 | p[1]);
    entry.from = p[2];
    entry.value = p[3];
    return entry;
}
