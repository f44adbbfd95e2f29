"""Compute beside collectives (docs/library.md has the contract)."""
from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from . import library
from .arrays import native_stream
from .errors import BadArgument
from .library import check
from .streams import Stream

if TYPE_CHECKING:
    from .communicator import Call


class Overlap:
    """Works of a rank beside each other, with the streams that a policy needs; made by
    Rank.overlap(). Its functions wait for nothing, and all ranks call them in the same order. The
    works of a call run in no defined order: none may access what another writes. Earlier work of the
    stream precedes them, and later work follows them.

    A `with` block closes it; the work that it enqueued must be done then.
    """

    def __init__(self, rank, policy, works):
        self._rank, self._handle = rank, c_void_p()
        check(rank.comm._of().duet_overlap_open(rank._handle, policy.encode(), works,
                                                byref(self._handle)))

    def _of(self):
        of = self._rank.comm._of()
        if not self._handle:
            raise BadArgument("the overlap is closed")
        return of

    @contextlib.contextmanager
    def beside(self, call: Call, stream: Any = None) -> Iterator[None]:
        """`with overlap.beside(call, stream):` runs the call beside what the block enqueues on the
        stream, which is one as of Call.enqueue(). What follows the block on the stream sees both. A
        block that raises enqueues the call all the same, since peers wait for it."""
        of = self._of()
        call._of()
        if type(stream) is Stream:
            check(of.duet_overlap_begin_on(self._handle, call._raw, stream._raw))
        else:
            check(of.duet_overlap_begin(self._handle, call._raw, self._native(stream)))
        try:
            yield
        except BaseException:
            self._of().duet_overlap_end(self._handle)
            raise
        check(self._of().duet_overlap_end(self._handle))

    def enqueue(self, works: Sequence[tuple[float, Call | Callable[[Stream], object]]],
                stream: Any = None) -> None:
        """Several works, pairs (workgroups, work): the workgroups that its kernels occupy at a time,
        equal on all ranks (0: by copy engines), and a Call, or a function that enqueues on the Stream
        that it is given for as long as it runs. The work that needs the fewest is enqueued first
        ("serial" and "base": as given), and the one that needs the most runs on the stream itself.
        Raises the first exception; the other works are enqueued all the same."""
        of = self._of()
        errors: list[BaseException] = []
        all_works = (library.OverlapWork * len(works))()
        for to, (workgroups, work) in zip(all_works, works):
            to.size, to.workgroups = ctypes.sizeof(to), workgroups
            if callable(work):
                to.enqueue = self._function(work, errors)
            else:
                work._of()
                to.call = work._raw
        if type(stream) is Stream:
            status = of.duet_overlap_enqueue_on(self._handle, all_works, len(works), stream._raw)
        else:
            status = of.duet_overlap_enqueue(self._handle, all_works, len(works), self._native(stream))
        if errors:
            raise errors[0]
        check(status)

    def _function(self, work, errors):
        @library.WORK_FUNCTION
        def call(_, handle, done):
            lent = Stream._of_handle(self._rank, handle)
            try:
                work(lent)
                done[0] = 1
            except BaseException as error:  # for the caller of enqueue()
                errors.append(error)
            lent.close()

        return call

    def _native(self, stream):
        return stream if type(stream) is int else native_stream(stream, self._rank.ordinal)

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle and self._rank.comm._handle:
            library.library().duet_overlap_close(handle)

    def __enter__(self) -> Overlap:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def __del__(self):
        if hasattr(self, "_handle"):
            self.close()


def overlap_engine(policy: str, device: str) -> str:
    """`engine` of a Communicator on the device for a policy of Rank.overlap().

    >>> import duet
    >>> duet.overlap_engine("priority", "cuda"), duet.overlap_engine("dma", "cuda")
    ('nccl', 'dma')
    """
    engine = c_void_p()
    check(library.library().duet_overlap_engine(policy.encode(), device.encode(), byref(engine)))
    return library.text_of(engine)
