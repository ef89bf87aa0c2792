/* Tracepoints of provider `dropline`, as LTTng-UST reads them: this file is read several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER dropline

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./dropline_lttng_tp.h"

#if !defined(DROPLINE_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define DROPLINE_LTTNG_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(dropline, passing,
    LTTNG_UST_TP_ARGS(uint32_t, pipe, uint64_t, n),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, pipe, pipe)
        lttng_ust_field_integer(uint64_t, n, n)))

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(dropline, passing, dropline, tx, LTTNG_UST_TP_ARGS(uint32_t, pipe, uint64_t, n))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(dropline, passing, dropline, rx, LTTNG_UST_TP_ARGS(uint32_t, pipe, uint64_t, n))

LTTNG_UST_TRACEPOINT_EVENT(dropline, in_flight,
    LTTNG_UST_TP_ARGS(uint32_t, pipe, uint64_t, samples),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, pipe, pipe)
        lttng_ust_field_integer(uint64_t, samples, samples)))

LTTNG_UST_TRACEPOINT_EVENT(dropline, own,
    LTTNG_UST_TP_ARGS(uint32_t, number, uint32_t, which, uint64_t, first, uint64_t, second),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, number, number)
        lttng_ust_field_integer(uint32_t, which, which)
        lttng_ust_field_integer(uint64_t, first, first)
        lttng_ust_field_integer(uint64_t, second, second)))

#endif

#include <lttng/tracepoint-event.h>
