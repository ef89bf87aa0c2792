/* What the C header's tracepoint costs, in rounds as src/rounds.rs makes them. The word is 1 where the time-stamp counter
 * stamps events. Says on stderr "report EVENT CLOCK MONOTONIC": ns, the least of each, less the empty loop. */
#define DROPLINE_TRACE_IMPLEMENTATION
#include "dropline_trace.h"
#include <stdio.h>

enum { ROUNDS = 41, EVENTS = 20000, LOOPS = 4 };

#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")

static int counter_is_clock;

static void empty(void)
{
    for (uint64_t n = 0; n < EVENTS; n++)
        KEEP(n);
}

static void event(void)
{
    for (uint64_t n = 0; n < EVENTS; n++) {
        KEEP(n);
        dropline_tx(1, n);
    }
}

static void clock_read(void)
{
    for (uint64_t n = 0; n < EVENTS; n++) {
        KEEP(n);
        KEEP(dropline_ticks(counter_is_clock));
    }
}

static void monotonic(void)
{
    for (uint64_t n = 0; n < EVENTS; n++) {
        KEEP(n);
        KEEP(dropline_monotonic_ns());
    }
}

int main(int count, char **words)
{
    void (*const loops[LOOPS])(void) = {empty, event, clock_read, monotonic};
    double least[LOOPS] = {1e18, 1e18, 1e18, 1e18};
    counter_is_clock = count > 1 && words[1][0] == '1';
    dropline_tx(1, 0); /* takes the thread's ring, or finds that nobody records */
    for (int round = 0; round < ROUNDS; round++)
        for (int loop = 0; loop < LOOPS; loop++) {
            uint64_t begun = dropline_monotonic_ns();
            loops[loop]();
            double took = (double)(dropline_monotonic_ns() - begun) / EVENTS;
            least[loop] = took < least[loop] ? took : least[loop];
        }
    fprintf(stderr, "report %f %f %f\n", least[1] - least[0], least[2] - least[0], least[3] - least[0]);
    return 0;
}
