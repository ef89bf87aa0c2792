// Samples from a source to a sink in one thread, in C++.
#define DROPLINE_TRACE_IMPLEMENTATION
#include "dropline_trace.hpp"

int main()
{
    dropline::join();
    dropline::Source source(2, 1000);
    dropline::Sink sink(2, 1000);
    for (int call = 0; call < 100; call++) {
        source.pass(2500); // crosses two boundaries, or three
        sink.pass(2500);
    }
    dropline::event(7, 8, 9, 10);
    return 0;
}
