"""Samples from a source to a sink in one thread, in Python."""

import dropline_trace

dropline_trace.join()
source = dropline_trace.Source(pipe=3, granularity=1000)
sink = dropline_trace.Sink(pipe=3, granularity=1000)
for _ in range(100):
    source.pass_(2500)  # crosses two boundaries, or three
    sink.pass_(2500)
dropline_trace.event(7, 8, 9, 10)
