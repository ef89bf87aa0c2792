/* The header's tracepoints as functions of a library, for ctypes. */
#define DROPLINE_TRACE_IMPLEMENTATION
#include "../dropline_trace.h"

int dropline_py_join(void)
{
    return dropline_join();
}

void dropline_py_tx(uint32_t pipe, uint64_t n)
{
    dropline_tx(pipe, n);
}

void dropline_py_rx(uint32_t pipe, uint64_t n)
{
    dropline_rx(pipe, n);
}

void dropline_py_in_flight(uint32_t pipe, uint64_t samples)
{
    dropline_in_flight(pipe, samples);
}

void dropline_py_event(uint32_t number, uint32_t which, uint64_t first, uint64_t second)
{
    dropline_event(number, which, first, second);
}
