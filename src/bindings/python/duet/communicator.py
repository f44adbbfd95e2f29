"""Collectives: communicators, ranks, memory and planned calls (docs/library.md has the contract)."""
from __future__ import annotations

import atexit
import builtins
import ctypes
import operator
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from ctypes import byref, c_uint64, c_void_p
from typing import Any

from . import dlpack, library
from .arrays import ITEMSIZE, Place, interface_of, native_stream, place_of
from .errors import BadArgument, Error, PeerFailed
from .exchange import TokenExchange
from .library import check
from .overlap import Overlap
from .streams import Stream

KINDS = ("all_gather", "all_to_all", "all_to_all_v", "broadcast", "gather", "scatter", "send_recv",
         "reduce_scatter", "all_reduce", "neighbor_exchange")
DTYPES = ("fp32", "fp16", "bf16", "int8", "int32")
OPS = ("sum", "max", "min", "avg")
SUMS = ("by_compute", "in_slots")


def _number(names, name, what):
    try:
        return names.index(name)
    except ValueError:
        raise BadArgument(f"{what} {name!r}: expected {', '.join(names)}") from None


class Communicator:
    """The ranks of one or several processes, one for each device.

    Processes find each other as `duet` itself does: by mpirun, srun, or MASTER_ADDR, RANK and
    WORLD_SIZE. Or by what is given here: `index` of `count` processes with `broadcast(mine)`, which
    gives all processes what process 0 has (bytes, in the others None) and is called on a thread of
    its own, or with `address`, `port` and `token`. With `local_index`, "cuda" is the one GPU of that
    number.

    `device`: "cuda", "cuda:0,1", "hip", "host:4", "sim:h200-4". `engine`: "auto", "dma", "kernel",
    "nccl", ... Opening and close() are collective over the processes. A `with` block closes it, and
    abandons it behind an exception, so that no peer waits.

    >>> import duet
    >>> with duet.Communicator("host:1") as comm:
    ...     comm.size
    1
    """

    size: int
    local_size: int
    first_local: int

    def __init__(self, device: str = "cuda", engine: str = "auto", *, index: int = 0,
                 count: int | None = None,
                 broadcast: Callable[[bytes | None], bytes | None] | None = None,
                 local_index: int | None = None, one_node: bool = False, address: str | None = None,
                 port: int = 0, token: str | None = None, deadline: float = 0,
                 node_size: int = 0) -> None:
        options = library.CommOptions(device=device.encode(), engine=engine.encode(),
                                      deadline=deadline, port=port, node_size=node_size)
        if count is None and (broadcast or address or token or index or local_index is not None):
            raise BadArgument("expected count=, the number of processes, as well")
        failed: list[BaseException] = []
        if count is not None:
            how = library.Bootstrap(index=index, count=count, one_node=one_node, port=port,
                                    has_local=local_index is not None, local_index=local_index or 0)
            if broadcast is not None:
                how.broadcast = _broadcast_by(broadcast, index, failed)
            if address is not None:
                how.address, how.token = address.encode(), (token or "").encode()
            options.bootstrap = ctypes.pointer(how)
        self._handle, self._why_closed = c_void_p(), "the communicator is closed"
        self._ranks: Any = weakref.WeakValueDictionary()
        self._calls: set[Call | TokenExchange] = set()
        of = library.library()
        try:
            _check(_interruptible(lambda: of.duet_comm_open(byref(options), byref(self._handle)), None))
        except Error as error:
            raise error from (failed[0] if failed else None)
        info = library.CommInfo()
        check(of.duet_comm_get_info(self._handle, byref(info)))
        self.size, self.local_size, self.first_local = info.ranks, info.local_ranks, info.first_local
        _open.add(self)

    def _of(self):
        """The library, where the communicator is open."""
        if not self._handle:
            raise BadArgument(self._why_closed)
        return library.library()

    def _leave_to_parent(self):
        """In a child of fork(): the communicator is the parent's."""
        self._handle = c_void_p()
        self._why_closed = ("the communicator is of the process that forked this one: open another, or "
                            "start processes by spawn")
        for call in list(self._calls):
            call._raw = None

    def _run(self, function):
        """A collective function, which Ctrl-C ends."""
        _check(_interruptible(function, self))

    def rank(self, local: int = 0) -> Rank:
        """A rank of this process, on real devices. Collective functions wait for all ranks: with
        several in one process a thread is needed for each, or each()."""
        of = self._of()
        rank = self._ranks.get(local)
        if rank is None:
            handle = c_void_p()
            check(of.duet_comm_rank(self._handle, local, byref(handle)))
            rank = self._ranks[local] = Rank(self, handle)
        return rank

    def each(self, function: Callable[[Rank], object]) -> None:
        """Runs `function(rank)` for every rank of this process, each on a thread of its own, and
        returns when all ranks of all processes have ended: the only way on simulated machines.
        Raises the first exception of a rank, PeerFailed only where there is no other."""
        errors = []

        @library.RANK_FUNCTION
        def call(_, handle, done):
            try:
                function(Rank(self, c_void_p(handle), inside=True))
                done[0] = 1
            except BaseException as error:  # of a rank, for the caller of each()
                errors.append(error)

        of = self._of()
        ended = _interruptible(lambda: of.duet_comm_each(self._handle, call, None), self)
        if errors:  # the cause, by which the others' calls fail, maybe before it is here
            causes = [error for error in errors if not isinstance(error, PeerFailed)] or errors[:]
            errors.clear()
            raise causes[0]
        _check(ended)

    def divide(self, groups: Sequence[Sequence[int]]) -> Groups:
        """Collective over the processes, while no rank is in a function: divides the ranks into
        groups of equal size, as [[0, 1], [2, 3]], whose ranks make collectives among themselves.
        By Duet's own engines. After a failure of ranks, divide anew."""
        return Groups(self, groups)

    def failure(self) -> str:
        """Why calls that are under way may have no result; "" if all is well. From any thread."""
        why = c_void_p()
        check(self._of().duet_comm_failure(self._handle, byref(why)))
        return library.text_of(why)

    def close(self) -> None:
        """Collective over the processes, and waits for them. Raises BadArgument, and stays open, while
        calls, exchanges, memory or streams exist."""
        if not self._handle:
            return
        of, handle = self._of(), self._handle

        def work():
            status = of.duet_comm_close(handle)
            if status == 0:  # here, where no exception of the main thread comes between
                self._handle = c_void_p()
            return status

        self._run(work)

    def abandon(self) -> None:
        """Not collective, for who ends without the others: to them this process is gone, so that none
        waits for it. Nothing of the communicator can be used then."""
        handle, self._handle = self._handle, None
        if handle:
            library.library().duet_comm_abandon(handle)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self.abandon()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.abandon()

    def __reduce__(self):
        raise BadArgument("a communicator cannot be pickled: open one in each process")


_open: weakref.WeakSet[Communicator] = weakref.WeakSet()
atexit.register(lambda: [comm.abandon() for comm in list(_open)])  # before modules are taken apart
os.register_at_fork(after_in_child=lambda: [comm._leave_to_parent() for comm in list(_open)])


class Groups:
    """A division of a communicator's ranks: Communicator.divide()."""

    comm: Communicator
    size: int

    def __init__(self, comm, groups):
        ranks = [rank for group in groups for rank in group]
        sizes = {len(group) for group in groups}
        if len(ranks) != comm.size or len(sizes) != 1:
            raise BadArgument(f"groups of {sorted(sizes)} ranks, {len(ranks)} together: expected groups "
                              f"of equal size that have all {comm.size} ranks")
        self.comm, self.size, self._handle = comm, sizes.pop(), c_void_p()
        numbers, of = (ctypes.c_int32 * len(ranks))(*ranks), comm._of()
        comm._run(lambda: of.duet_comm_divide(comm._handle, numbers, self.size, byref(self._handle)))

    def of(self, rank: Rank) -> Rank:
        """The rank as one of its group: `index` of `size` are those of the group. All ranks of the
        communicator make the same calls on it, each with its own group's data; barriers and errors
        are those of all ranks."""
        if not self._handle:
            raise BadArgument("the groups are closed")
        handle = c_void_p()
        check(self.comm._of().duet_groups_rank(self._handle, rank._handle, byref(handle)))
        return Rank(self.comm, handle, rank._inside, self)

    def close(self) -> None:
        """Not collective; calls of its ranks have been retired."""
        handle, self._handle = self._handle, None
        if handle and self.comm._handle:
            library.library().duet_groups_close(handle)

    def __del__(self):
        if hasattr(self, "_handle"):
            self.close()


class Rank:
    """One rank: `index` of `size`, `local` among those of this process, the `kind`, `model` and
    `ordinal` of its device."""

    comm: Communicator
    index: int
    size: int
    local: int
    ordinal: int
    kind: str
    model: str
    cpu_addressable: bool

    def __init__(self, comm, handle, inside=False, groups=None):
        self.comm, self._handle, self._inside, self._groups = comm, handle, inside, groups
        info = library.RankInfo()
        check(comm._of().duet_rank_get_info(handle, byref(info)))
        self.index, self.local, self.ordinal = info.index, info.local, info.ordinal
        self.size = comm.size if groups is None else groups.size
        self.cpu_addressable = bool(info.cpu_addressable)
        self.kind, self.model = info.kind.decode(), info.model.decode()

    def _run(self, function):
        if self._inside:
            check(function())
        else:
            self.comm._run(function)

    def barrier(self, what: str = "the other ranks", seconds: float = 60.0) -> None:
        """Collective; `what` ends the sentence "waiting for ..." of errors."""
        of = self.comm._of()
        self._run(lambda: of.duet_barrier(self._handle, what.encode(), seconds))

    def empty(self, elements: int, dtype: str = "int8") -> Memory:
        """Collective: memory of the device for so many elements, uninitialised, of the kind that
        suits the engine best."""
        return Memory(self, elements, dtype)

    def stream(self) -> Stream:
        """A new stream of the device."""
        return Stream(self)

    def overlap(self, policy: str = "dma", works: int = 2) -> Overlap:
        """What runs compute beside collectives by a policy of docs/overlap.md: "serial", "base",
        "priority", "zero-cta" or "dma", as an Overlap, which a `with` block closes. `works`: of an
        Overlap.enqueue() at most."""
        return Overlap(self, policy, works)

    def token_exchange(self, tokens: int, hidden: int, experts: int, chosen: int, dtype: str = "bf16",
                       results_over_rows: bool = False) -> TokenExchange:
        """Collective: the exchange of rows of tokens around the experts of a layer, as a TokenExchange.
        `tokens` of each rank at most, rows of `hidden` elements of `dtype` (fp32, on GPUs also bf16);
        `chosen` of `experts`, which the ranks divide in order, for each token. With
        `results_over_rows` results and rows are one memory, for experts that no longer read rows."""
        return TokenExchange(self, tokens, hidden, experts, chosen, _number(DTYPES, dtype, "dtype"), results_over_rows)

    def plan(self, kind: str, send: Any, recv: Any, *, count: int | None = None,
             dtype: str | None = None, op: str = "sum", root: int = 0,
             counts: Sequence[int] | None = None, ring: int = 0, columns: int = 0, ranges: int = 1,
             sums: str = "by_compute", streams: int = 1, residual: Any = None, weight: Any = None,
             updated: Any = None, epsilon: float = 0.0) -> Call:
        """Collective: binds a collective to buffers, as a Call that can be enqueued any number of
        times. It blocks.

        `send` and `recv` are Memory or parts of it, PyTorch tensors, arrays of CuPy, JAX or Numba
        on the rank's device, or addresses with `count` and `dtype`; None where a rank has no such
        buffer. `count` (elements: see Collective in docs/library.md) and `dtype` else come from
        them. The call keeps both alive.

        Of an all_gather, a reduce_scatter or an all_reduce with `columns` the buffers are rows of so
        many elements, which the program multiplies within the call: Call.enqueue_rows(). Each rank's
        rows are sent in `ranges`; sums are made `by_compute` (each multiplication adds to what has
        come) or `in_slots` (a kernel adds behind them); `streams`: on how many ranges are
        multiplied in turns, 1 or 2.

        An all_reduce with `residual` and `weight` ends with these: by rows of as many elements as
        `weight` has, with s the sum of all ranks' `send`, `updated` becomes residual + s, and `recv`
        its RMSNorm, updated / sqrt(mean of updated^2 + epsilon) * weight. `updated` None: `residual`
        is updated. These three are the rank's alone, and may be any memory of its device.
        """
        updated = residual if updated is None else updated
        arrays = send, recv, residual, updated, weight
        try:
            places = [None if array is None else place_of(array, array is recv or array is updated)
                      for array in arrays]
            one = _collective(kind, places, self.size, count, dtype, op, root, counts, ring)
            _set_norm(one, *places[2:], epsilon)
            if columns:
                one.row_columns, one.row_ranges, one.row_streams = columns, ranges, streams
                one.row_sums = _number(SUMS, sums, "sums")
        except BadArgument:
            self._decline()
            raise
        return Call(self, one, places, arrays)

    def _decline(self):
        """Tells the other ranks, which are in plan(), that this one has no arguments for it."""
        of, none = self.comm._of(), c_void_p()
        try:
            self._run(lambda: of.duet_plan(self._handle, None, None, 0, None, 0, byref(none)))
        except Error:
            pass


def _collective(kind, places, size, count, dtype, op, root, counts, ring):
    known = [place for place in places if place is not None]
    if dtype is None:
        types = {place.dtype for place in known if place.dtype is not None}
        if len(types) != 1:
            raise BadArgument(f"dtype: expected one of all buffers, or dtype=, not {sorted(types)}")
        dtype = types.pop()
    for place in known:
        if place.dtype not in (None, dtype):
            raise BadArgument(f"a buffer of {place.dtype}: expected {dtype}")
    if count is None and kind != "all_to_all_v":
        count = _count_of(kind, places, size)
    one = library.Collective(kind=_number(KINDS, kind, "collective"),
                             dtype=_number(DTYPES, dtype, "dtype"), op=_number(OPS, op, "op"),
                             root=root, count=count or 0, ring=ring)
    if counts is not None:
        one.counts = (c_uint64 * len(counts))(*counts)
        one.counts_length = len(counts)
    return one


def _set_norm(one, residual, updated, weight, epsilon):
    if (residual is None) != (weight is None) or (updated is not None and residual is None):
        raise BadArgument("expected residual= and weight=, or neither")
    if weight is not None:
        if weight.count is None:
            raise BadArgument("weight: expected an array, which has a row's elements, not an address")
        one.norm_columns, one.norm_epsilon = weight.count, epsilon


# By which buffer, and as which part of it, `count` is counted (Collective in docs/library.md).
def _count_of(kind, places, size):
    by_recv = kind in ("scatter", "reduce_scatter")
    place = places[1] if by_recv or places[0] is None else places[0]
    if place is None or place.count is None:
        raise BadArgument("count: expected count= where buffers are addresses")
    parts = 1
    if kind == "all_to_all" or (kind in ("all_gather", "gather") and place is places[1]):
        parts = size
    elif kind == "neighbor_exchange":
        parts = 2
    if place.count % parts != 0:
        raise BadArgument(f"{kind} of {place.count} elements: expected a multiple of {parts}, or count=")
    return place.count // parts


class Call:
    """A planned collective. End it by retire(), on all ranks, when its streams are done."""

    algorithm: str
    takes_buffers: bool

    def __init__(self, rank, one, places, keep):
        self._rank, self._keep, self._handle = rank, keep, c_void_p()
        self._dtype = DTYPES[one.dtype]
        buffers = library.Buffers()
        for name, place in zip(("send", "recv", "residual", "updated", "weight"), places):
            address, size = _extent(place)
            setattr(buffers, name, address)
            setattr(buffers, name + "_bytes", size)
        of = rank.comm._of()
        rank._run(lambda: of.duet_plan_buffers(rank._handle, byref(one), byref(buffers),
                                               byref(self._handle)))
        self.algorithm = of.duet_call_algorithm(self._handle).decode()
        self._raw = self._handle.value  # None: it has ended
        self._enqueue, self._enqueue_on = of.duet_enqueue, of.duet_enqueue_on
        self._enqueue_at, self._enqueue_at_on = of.duet_enqueue_at, of.duet_enqueue_at_on
        self.takes_buffers = bool(of.duet_call_takes_buffers(self._handle))
        self._bytes = [place.bytes or 0 if place is not None else 0 for place in places]
        rank.comm._calls.add(self)  # until retire(): its work may be under way

    def enqueue(self, stream: Any = None) -> None:
        """Adds the collective to a stream, without waiting: a Stream, a stream of PyTorch or
        cuda.core, a cudaStream_t as an integer, or None for PyTorch's current one where PyTorch is
        loaded, else the default stream. All ranks enqueue the same calls in the same order."""
        if type(stream) is Stream:
            status = self._enqueue_on(self._raw, stream._raw)
        elif type(stream) is int:
            status = self._enqueue(self._raw, stream)
        else:
            status = self._enqueue(self._raw, native_stream(stream, self._rank.ordinal))
        if status != 0:
            self._raise(status)

    def enqueue_at(self, send: Any, recv: Any, stream: Any = None, *, residual: Any = None,
                   weight: Any = None, updated: Any = None) -> None:
        """enqueue() of a call that `takes_buffers` (small ones that go by packets, on GPUs, and some of one
        rank), in this call with other buffers than it was planned with. They are given as to
        Rank.plan(), of the same sizes and on the rank's device, and may be others in each call and on
        each rank: this is not collective. Addresses are taken as they are. The caller keeps them alive
        until the work is done. BadArgument for others, and then nothing is enqueued."""
        updated = residual if updated is None else updated
        addresses = [given if type(given) is int else self._address(given, bytes_)
                     for given, bytes_ in zip((send, recv, residual, updated, weight), self._bytes)]
        self._enqueue_at_addresses(stream, *addresses)

    def _enqueue_at_addresses(self, stream, send, recv, residual=None, updated=None, weight=None):
        if type(stream) is Stream:
            status = self._enqueue_at_on(self._raw, stream._raw, send, recv, residual, updated, weight)
        else:
            native = stream if type(stream) is int else native_stream(stream, self._rank.ordinal)
            status = self._enqueue_at(self._raw, native, send, recv, residual, updated, weight)
        if status != 0:
            self._raise(status)

    def _address(self, array, bytes_):
        if array is None:
            return None
        place = place_of(array)
        if place.bytes is not None and place.bytes < bytes_:
            raise BadArgument(f"a buffer of {place.bytes} bytes: expected {bytes_}, as it was planned")
        return place.address

    def _raise(self, status):
        said = library.library().duet_last_error()
        self._of()
        _check((status, said))

    def enqueue_rows(self, multiply: Callable[[Rows], object], stream: Any = None) -> None:
        """enqueue() of a collective with rows: calls `multiply(rows)` during this function, once or for
        several ranges, in any order, that together are all rows (Rows). It enqueues their
        multiplication on `rows.native`, and does not wait. What it raises fails the calls of all
        ranks, and is raised here."""
        errors = []

        @library.ROWS_FUNCTION
        def call(_, given, native, done):
            try:
                multiply(Rows(given.contents, native, self._dtype, self._rank.kind, self._keep))
                done[0] = 1
            except BaseException as error:  # for the caller of enqueue_rows()
                errors.append(error)

        of = self._of()
        if type(stream) is Stream:
            status = of.duet_enqueue_rows_on(self._raw, stream._raw, call, None)
        else:
            native = stream if type(stream) is int else native_stream(stream, self._rank.ordinal)
            status = of.duet_enqueue_rows(self._raw, native, call, None)
        if errors:
            raise errors[0]
        check(status)

    def _of(self):
        of = self._rank.comm._of()
        if self._raw is None:
            raise BadArgument("the call has been retired")
        return of

    def retire(self) -> None:
        """Collective: ends the call. Its streams must have been synchronised."""
        of = self._of()
        handle, self._handle, self._raw = self._handle, None, None
        self._rank._run(lambda: of.duet_retire(self._rank._handle, handle))
        self._keep = None
        self._rank.comm._calls.discard(self)


class Rows:
    """Rows of a matrix that are multiplied at once: `count` from the `first` on. Of an all_gather they
    are rows of a factor, which stand in `place` (address, count of elements, dtype); of a reduction
    rows of the rank's partial sums, which come to `place` or, with `adds`, are added to what is there.
    `native`: the cudaStream_t on which they are multiplied, as torch.cuda.ExternalStream takes it, or
    None for the default stream; those of other `stream` (0, 1) may be multiplied at the same time. On GPUs CuPy, Numba and
    torch.as_tensor() take it as the matrix in `place` (bf16 as its 16 bits)."""

    first: int
    count: int
    adds: bool
    stream: int
    native: int | None
    place: Place

    def __init__(self, given, native, dtype, kind, owner):
        self._kind = kind
        self.first, self.count, self.adds = given.first, given.count, bool(given.adds)
        self.stream, self.native = given.stream, native
        self.place = Place(given.place, given.place_bytes // ITEMSIZE[dtype], dtype, owner)

    @property
    def __cuda_array_interface__(self):
        if self._kind not in ("cuda", "hip"):
            raise AttributeError("these rows are not in memory of a GPU")
        shape = (self.count, self.place.count // self.count)
        return interface_of(self.place.address, shape, self.place.dtype)


class Memory:
    """Memory of a rank's device. `address`, `bytes`, `elements`, `dtype`. numpy.asarray() is a view
    of it where the CPU may use it; CuPy, Numba and torch.as_tensor() take it on GPUs (bf16 as its
    16 bits), and from_dlpack() of any package on both."""

    rank: Rank
    address: int
    bytes: int
    elements: int
    dtype: str

    _lent = False  # by an exchange, until it ends

    def __init__(self, rank, elements, dtype):
        self.rank, self.elements, self.dtype = rank, operator.index(elements), dtype
        if self.elements < 0:
            raise BadArgument(f"{elements} elements: expected 0 or more")
        self.bytes = self.elements * ITEMSIZE[DTYPES[_number(DTYPES, dtype, "dtype")]]
        self._handle = c_void_p()
        of = rank.comm._of()
        rank._run(lambda: of.duet_allocate(rank._handle, self.bytes, byref(self._handle)))
        self.address = of.duet_memory_data(self._handle) or 0

    @classmethod
    def _of_handle(cls, rank, handle, dtype):
        memory = cls.__new__(cls)
        of = rank.comm._of()
        memory.rank, memory.dtype, memory._handle, memory._lent = rank, dtype, c_void_p(handle), True
        memory.bytes, memory.address = of.duet_memory_bytes(handle), of.duet_memory_data(handle) or 0
        memory.elements = memory.bytes // ITEMSIZE[dtype]
        return memory

    def _of(self):
        if not self._handle:
            raise BadArgument("the memory has been freed")
        return self.rank.comm._of()

    def part(self, first: int, elements: int) -> Place:
        """So many elements from the first one on, for plan()."""
        self._of()
        if first < 0 or elements < 0 or first + elements > self.elements:
            raise BadArgument(f"elements {first} to {first + elements}: expected them within "
                              f"{self.elements}")
        return Place(self.address + first * ITEMSIZE[self.dtype], elements, self.dtype, self)

    def write(self, data: Any, offset: int = 0) -> None:
        """Copies bytes, or an array of the CPU's, to the memory from a byte on. Not ordered with
        streams: synchronise them first."""
        view = memoryview(data).cast("B")
        source = (ctypes.c_char * len(view)).from_buffer_copy(view)
        check(self._of().duet_memory_write(self._handle, offset, source, len(view)))

    def read(self, offset: int = 0, bytes: int | None = None) -> builtins.bytes:
        """The memory's bytes, or so many of them. Not ordered with streams either."""
        count = self.bytes - offset if bytes is None else bytes
        to = ctypes.create_string_buffer(max(count, 1))
        check(self._of().duet_memory_read(self._handle, offset, to, count))
        return to.raw[:count]

    @property
    def _interface(self):
        self._of()
        return interface_of(self.address, (self.elements,), self.dtype)

    @property
    def __array_interface__(self):
        if not self.rank.cpu_addressable:
            raise AttributeError("the CPU may not use this memory: read()")
        return self._interface

    @property
    def __cuda_array_interface__(self):
        if self.rank.kind not in ("cuda", "hip"):
            raise AttributeError("this is no memory of a GPU")
        return self._interface

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.rank.kind == "sim":
            raise BufferError("memory of a simulated machine")
        if self.rank.cpu_addressable:
            return dlpack.CPU, 0
        return dlpack.CUDA if self.rank.kind == "cuda" else dlpack.ROCM, self.rank.ordinal

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: bool | None = None) -> Any:
        """For from_dlpack() of NumPy, PyTorch, JAX and others. The memory is not ordered with streams:
        synchronise those that write it first. It must not be freed before the array."""
        self._of()
        device = self.__dlpack_device__()
        if copy or dl_device not in (None, device):
            raise BufferError("memory of Duet is lent, not copied: expected copy=False and its own device")
        return dlpack.capsule_of(self.address, self.elements, self.dtype, device, self)

    def free(self) -> None:
        """When the calls that use it have been retired on all ranks."""
        handle, self._handle = self._handle, None
        if handle and self.rank.comm._handle and not self._lent:
            library.library().duet_memory_free(handle)

    def __del__(self):
        if hasattr(self, "_handle"):
            self.free()


def _broadcast_by(broadcast, index, failed):
    @library.BROADCAST
    def call(_, room, capacity, length, done):
        try:
            mine = ctypes.string_at(room, length[0]) if index == 0 else None
            got = broadcast(mine)
            if got is None:  # as of a function that only sends
                got = mine
            if len(got) <= capacity:
                ctypes.memmove(room, got, len(got))
                length[0] = len(got)
                done[0] = 1
            else:
                raise BadArgument(f"broadcast gave {len(got)} bytes: expected {capacity} at most")
        except BaseException as error:  # done stays 0, which is the failure that the library reports
            failed.append(error)

    return call


def _extent(place):
    """Address and bytes of a place. Of an address alone the size is the program's word."""
    if place is None:
        return None, 0
    return place.address, (1 << 64) - 1 if place.bytes is None else place.bytes


def _interruptible(function, comm):
    """The status of a function that may wait, and what the library said. The main thread waits in
    Python, where Ctrl-C arrives: what waits is then interrupted, and KeyboardInterrupt goes on."""
    def ended():
        return function(), library.library().duet_last_error()

    if threading.current_thread() is not threading.main_thread():
        return ended()
    made, raised = [], []
    over = threading.Event()  # a join() that Ctrl-C ends takes the thread for ended, before Python 3.13

    def work():
        try:
            made.append(ended())
        except BaseException as error:  # of ctypes: for the caller
            raised.append(error)
        over.set()

    worker = threading.Thread(target=work, daemon=True)
    try:
        worker.start()
        while not over.wait(0.2):  # a signal that another thread gets wakes nobody here
            pass
    except BaseException:
        handle = comm._handle if comm is not None else None
        if handle and worker.ident is not None:
            library.library().duet_comm_interrupt(handle)
            over.wait()
        raise
    if raised:
        raise raised[0]
    return made[0]


def _check(ended):
    status, said = ended
    if status != 0:
        raise library.BY_STATUS.get(status, Error)(said.decode(errors="replace"))
