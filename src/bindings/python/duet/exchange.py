"""Tokens and their experts (docs/library.md has the contract)."""
from __future__ import annotations

from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from . import communicator, library
from .arrays import native_stream, place_of
from .errors import BadArgument
from .library import check
from .streams import Stream

if TYPE_CHECKING:
    from .communicator import Memory, Rank


class TokenExchange:
    """Rows of tokens that go to the ranks of their experts, and back as weighted sums; made by
    Rank.token_exchange(). End it by retire(), on all ranks, when its streams are done.

    The program writes `tokens` (tokens, hidden), this rank's rows, and `routing` (tokens, 2 *
    chosen), int32: in each row the experts, and behind them the bits of their weights, fp32; an
    expert of -1 adds nothing, and choose() writes it from logits. dispatch() makes `rows` (most_rows,
    hidden), those of this rank's experts, by expert and then by token of all ranks, and `offsets`
    (own_experts + 1), where those of each expert begin. The program's experts write `results`, as
    rows; combine() makes `out` (tokens, hidden). For backward passes: `all_routing`, of all ranks'
    tokens, and `places` (size * tokens, chosen), where in rows a choice stands, or -1.

    All are flat Memory, which ends with the exchange. Functions of a `stream` (as Call.enqueue()) only
    enqueue, and all ranks call them in the same order.
    """

    tokens: Memory
    routing: Memory
    rows: Memory
    offsets: Memory
    results: Memory
    out: Memory
    all_routing: Memory
    places: Memory
    most_rows: int
    own_experts: int
    first_expert: int

    def __init__(self, rank: Rank, tokens: int, hidden: int, experts: int, chosen: int, dtype: int,
                 results_over_rows: bool) -> None:
        self._rank, self._handle = rank, c_void_p()
        options = library.ExchangeOptions(tokens=tokens, hidden=hidden, experts=experts, chosen=chosen,
                                          dtype=dtype, results_over_rows=results_over_rows)
        of = rank.comm._of()
        rank._run(lambda: of.duet_exchange_open(rank._handle, byref(options), byref(self._handle)))
        self._raw = self._handle.value  # None: it has ended
        self._experts = experts
        info = library.ExchangeInfo()
        check(of.duet_exchange_get_info(self._handle, byref(info)))
        rows = communicator.DTYPES[dtype]
        self._memories = []
        for name, kind in (("tokens", rows), ("routing", "int32"), ("rows", rows), ("offsets", "int32"),
                           ("results", rows), ("out", rows), ("all_routing", "int32"),
                           ("places", "int32")):
            memory = communicator.Memory._of_handle(rank, getattr(info, name), kind)
            setattr(self, name, memory)
            self._memories.append(memory)
        self.most_rows, self.own_experts = info.most_rows, info.own_experts
        self.first_expert = info.first_expert
        rank.comm._calls.add(self)  # until retire(): its work may be under way

    def choose(self, logits: Any, normalised: bool = True, stream: Any = None) -> None:
        """What a router does: of each token the experts with the largest of `logits` (tokens, experts),
        fp32, as buffers of plan(); their weights are the softmax over all experts, divided by the sum
        of the chosen ones where `normalised`. Logits of fewer tokens leave the others out."""
        place = place_of(logits)
        if place.count is None or place.dtype != "fp32" or place.count % self._experts != 0:
            raise BadArgument(f"logits: expected an array of fp32, (tokens, {self._experts})")
        self._call("choose", stream, place.address, place.count // self._experts, normalised)

    def leave_out(self, first: int, stream: Any = None) -> None:
        """Tokens from the `first` on choose nothing, of a rank that has fewer than others."""
        self._call("leave_out", stream, first)

    def dispatch(self, stream: Any = None) -> None:
        self._call("dispatch", stream)

    def combine(self, stream: Any = None) -> None:
        self._call("combine", stream)

    def _call(self, name, stream, *arguments):
        of, name = self._of(), "duet_exchange_" + name
        if type(stream) is Stream:
            return check(getattr(of, name + "_on")(self._raw, *arguments, stream._raw))
        native = stream if type(stream) is int else native_stream(stream, self._rank.ordinal)
        check(getattr(of, name)(self._raw, *arguments, native))

    def _of(self):
        of = self._rank.comm._of()
        if self._raw is None:
            raise BadArgument("the exchange has been retired")
        return of

    def retire(self) -> None:
        """Collective: ends the exchange and its memory. Its streams must have been synchronised."""
        of = self._of()
        handle, self._handle, self._raw = self._handle, None, None
        for each in self._memories:
            each._handle = None
        self._rank._run(lambda: of.duet_exchange_retire(self._rank._handle, handle))
        self._rank.comm._calls.discard(self)
