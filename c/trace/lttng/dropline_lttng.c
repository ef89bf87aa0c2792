/* The tracepoints as an LTTng-UST provider: a library that programs load when DROPLINE_LTTNG names it, so that a program
 * needs LTTng neither to be built nor to run.
 *
 *     cc -O2 -shared -fPIC -o libdropline_lttng.so dropline_lttng.c -llttng-ust
 *
 * Loaded, not linked: a linker that collects unused sections may drop the table of tracepoints from a program that links
 * a provider, and then nothing registers and nobody says so. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "dropline_lttng_tp.h"

/* An event by its code, as in a ring: 1 tx, 2 rx, 4 in flight, from 16 on a program's own. */
void dropline_lttng_write(uint64_t code, uint32_t pipe, uint64_t n, uint64_t extra)
{
    if (code == 1)
        lttng_ust_tracepoint(dropline, tx, pipe, n);
    else if (code == 2)
        lttng_ust_tracepoint(dropline, rx, pipe, n);
    else if (code == 4)
        lttng_ust_tracepoint(dropline, in_flight, pipe, n);
    else if (code >= 16)
        lttng_ust_tracepoint(dropline, own, (uint32_t)(code - 16), pipe, n, extra);
}

/* Whether a session records tx or rx. */
int dropline_lttng_records(void)
{
    return lttng_ust_tracepoint_enabled(dropline, tx) || lttng_ust_tracepoint_enabled(dropline, rx);
}
