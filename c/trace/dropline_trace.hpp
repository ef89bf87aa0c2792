/* dropline_trace.hpp: the tracepoints of dropline_trace.h for C++11, in the namespace `dropline`.
 *
 *     dropline::Source source(pipe, 32768);      in the source's object
 *     source.pass(samples);                      before they are handed on: an event for each boundary that is crossed
 *     dropline::Sink sink(pipe, 32768);
 *     sink.pass(samples);
 *
 * One source file of the program defines DROPLINE_TRACE_IMPLEMENTATION before the include. */
#ifndef DROPLINE_TRACE_HPP
#define DROPLINE_TRACE_HPP

#include "dropline_trace.h"

namespace dropline {

/* Joins the session that the environment names; whether tracepoints record now. */
inline bool join() { return dropline_join() != 0; }
inline void tx(uint32_t pipe, uint64_t n) { dropline_tx(pipe, n); }
inline void rx(uint32_t pipe, uint64_t n) { dropline_rx(pipe, n); }
inline void in_flight(uint32_t pipe, uint64_t samples) { dropline_in_flight(pipe, samples); }
inline void event(uint32_t number, uint32_t which, uint64_t first, uint64_t second)
{
    dropline_event(number, which, first, second);
}

/* One end of a pipe: counts samples, one event for each granule that is complete. */
template <void (*Trace)(dropline_granules *, uint32_t, uint64_t)> class End {
public:
    End(uint32_t pipe, uint64_t granularity) : pipe_(pipe), granules_() { granules_.size = granules_.left = granularity; }
    void pass(uint64_t samples) { Trace(&granules_, pipe_, samples); }

private:
    uint32_t pipe_;
    dropline_granules granules_;
};

inline void tx_samples(dropline_granules *granules, uint32_t pipe, uint64_t n) { dropline_tx_samples(granules, pipe, n); }
inline void rx_samples(dropline_granules *granules, uint32_t pipe, uint64_t n) { dropline_rx_samples(granules, pipe, n); }

typedef End<tx_samples> Source;
typedef End<rx_samples> Sink;

} // namespace dropline

#endif /* DROPLINE_TRACE_HPP */
