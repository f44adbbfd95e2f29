"""Streams of devices."""
import time
from ctypes import byref, c_void_p

from . import library
from .errors import BadArgument, Timeout
from .library import check


class Stream:
    """A stream of a rank's device. `native`: its cudaStream_t or hipStream_t, or None."""

    _lent = False  # by the library, for as long as a function runs

    def __init__(self, rank):
        self._comm, self._handle = rank.comm, c_void_p()
        check(rank.comm._of().duet_stream_open(rank._handle, byref(self._handle)))
        self._raw = self._handle.value
        self.native = library.library().duet_stream_native(self._handle)

    def synchronize(self, seconds=60):
        """Waits until the stream's work is done; raises Timeout after that many seconds."""
        if not self._handle:
            raise BadArgument("the stream is closed")
        of, end = self._comm._of(), time.monotonic() + seconds
        while True:  # in slices, between which Ctrl-C arrives
            left = end - time.monotonic()
            try:
                return check(of.duet_stream_synchronize(self._handle, max(1e-6, min(left, 0.2))))
            except Timeout:
                if left <= 0.2:
                    raise

    @classmethod
    def _of_handle(cls, comm, handle):
        stream = cls.__new__(cls)
        stream._comm, stream._handle, stream._raw, stream._lent = comm, c_void_p(handle), handle, True
        stream.native = library.library().duet_stream_native(handle)
        return stream

    def close(self):
        handle, self._handle, self._raw = self._handle, c_void_p(), None
        if handle and self._comm._handle and not self._lent:
            library.library().duet_stream_close(handle)

    def __del__(self):
        if hasattr(self, "_handle"):
            self.close()
