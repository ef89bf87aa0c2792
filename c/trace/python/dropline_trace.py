"""Tracepoints for Python programs, through the C header.

    cc -O2 -shared -fPIC -pthread -o libdropline_trace.so dropline_trace.c

and then, with the library beside this file or named by DROPLINE_TRACE_LIBRARY:

    import dropline_trace
    dropline_trace.join()
    source = dropline_trace.Source(pipe=0, granularity=32768)
    sink = dropline_trace.Sink(pipe=0, granularity=32768)
    source.pass_(4096)      # before the samples are handed on
    sink.pass_(4096)

A call through ctypes costs some hundred ns: granules of thousands of samples, not of one.
"""

import ctypes
import os

_here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libdropline_trace.so")
_library = ctypes.CDLL(os.environ.get("DROPLINE_TRACE_LIBRARY", _here))


def _function(name, *arguments, result=None):
    function = getattr(_library, "dropline_py_" + name)
    function.argtypes = arguments
    function.restype = result
    return function


_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64

_join = _function("join", result=ctypes.c_int)
#: tx(pipe, n): granule n, from 1, leaves the source of a pipe.
tx = _function("tx", _u32, _u64)
#: rx(pipe, n): granule n has reached its sink.
rx = _function("rx", _u32, _u64)
#: in_flight(pipe, samples): a sampler saw so many samples between both ends.
in_flight = _function("in_flight", _u32, _u64)
#: event(number, which, first, second): an event of the program's own.
event = _function("event", _u32, _u32, _u64, _u64)


def join():
    """Joins the session that the environment names; whether tracepoints record now."""
    return _join() != 0


class _End:
    def __init__(self, trace, pipe, granularity):
        if granularity < 1:
            raise ValueError("a granule has samples")
        self._trace, self._pipe, self._granularity = trace, pipe, granularity
        self._samples = 0

    def pass_(self, samples):
        """So many samples pass: an event for each boundary of a granule that they cross."""
        before = self._samples // self._granularity
        self._samples += samples
        for n in range(before + 1, self._samples // self._granularity + 1):
            self._trace(self._pipe, n)


class Source(_End):
    """The source of a pipe."""

    def __init__(self, pipe, granularity):
        super().__init__(tx, pipe, granularity)


class Sink(_End):
    """The sink of a pipe."""

    def __init__(self, pipe, granularity):
        super().__init__(rx, pipe, granularity)
