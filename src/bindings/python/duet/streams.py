"""Streams of devices."""
from __future__ import annotations

import time
from ctypes import byref, c_void_p

from . import library
from .errors import BadArgument, Timeout
from .library import check


class Stream:
    """A stream of a rank's device. `native`: its cudaStream_t or hipStream_t, or None."""

    native: int | None
    _lent = False  # by the library, for as long as a function runs

    def __init__(self, rank):
        self._rank, self._handle = rank, c_void_p()
        check(rank.comm._of().duet_stream_open(rank._handle, byref(self._handle)))
        self._raw = self._handle.value
        self.native = library.library().duet_stream_native(self._handle)

    def synchronize(self, seconds: float = 60) -> None:
        """Waits until the stream's work is done; raises Timeout after that many seconds."""
        if not self._handle:
            raise BadArgument("the stream is closed")
        of, end = self._rank.comm._of(), time.monotonic() + seconds
        if self._rank.kind == "sim":  # in virtual time
            check(of.duet_stream_synchronize(self._handle, max(1e-6, seconds)))
            return
        while True:  # in slices, between which Ctrl-C arrives
            left = end - time.monotonic()
            try:
                check(of.duet_stream_synchronize(self._handle, max(1e-6, min(left, 0.2))))
                return
            except Timeout:
                if left <= 0.2:
                    raise

    @classmethod
    def _of_handle(cls, rank, handle):
        stream = cls.__new__(cls)
        stream._rank, stream._handle, stream._raw, stream._lent = rank, c_void_p(handle), handle, True
        stream.native = library.library().duet_stream_native(handle)
        return stream

    def close(self) -> None:
        handle, self._handle, self._raw = self._handle, None, None
        if handle and self._rank.comm._handle and not self._lent:
            library.library().duet_stream_close(handle)

    def __del__(self):
        if hasattr(self, "_handle"):
            self.close()
