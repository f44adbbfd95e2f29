"""Planned calls of a rank, and the buffers that they are bound to.

Plans are collective, and bound to addresses, which PyTorch's allocator chooses differently on each
rank. So a call of an operator is found by operator, type and shape, and has buffers of its own; a call
on a program's buffers by their addresses, each of which stands for the same buffer as the other
ranks' as long as it exists.
"""
import gc
import math
import threading
import weakref

import torch

from .. import arrays
from ..errors import BadArgument, Error, PeerFailed
from .buffers import DTYPES, Buffer, place_of, tensor_at
from .shapes import dispatched, multiplied, normalised, returned


_SMALL = 1 << 20  # bytes of an operator's larger buffer


class Calls:
    """Of one rank (duet.Rank) on `device`. Nothing here has gradients. `how`: ranges, streams and
    sums of Rank.plan()."""

    def __init__(self, rank, device, deadline, how):
        self._rank, self._device, self._deadline, self._how = rank, device, deadline, how
        self._lock = threading.RLock()  # autograd has threads of its own
        self._plans, self._buffers, self._released = {}, weakref.WeakSet(), []
        self._native, self._streams = None, {}  # that of the last call; PyTorch's of native ones
        # On CPUs, a stream of Duet's.
        self._stream = rank.stream() if device.type == "cpu" else None

    # ---- With copies, as new tensors --------------------------------------------------------------

    def move(self, kind, x, op=None):
        """The result of a collective without products."""
        with self._used(x):
            key = kind, x.dtype, x.shape, op
            planned = self._plans.get(key)
            if planned is None:  # else x is as it was then
                shape = returned(kind, x, self._rank.size)
                if x.numel() == 0:
                    return x.new_empty(shape)
                planned = self._planned(key, lambda: self._plan_with_copies(kind, x, shape, op))
            if planned.call.takes_buffers:
                x = _plain(x).contiguous()
                out = torch.empty_like(x) if planned.keeps_shape else x.new_empty(planned.result.shape)
                self._enqueue(planned.call._enqueue_at_addresses, x.data_ptr(), out.data_ptr())
                return out
            planned.given.copy_(_plain(x))
            self._enqueue(planned.call.enqueue)
            return planned.result.clone()

    def gather_and_multiply(self, x, weights, rows):
        """[the rows @ weight, ...] of the rows of all ranks, and behind them these if `rows`."""
        x, *weights = map(_plain, (x, *weights))
        with self._used(x, *weights):
            if not weights:
                raise BadArgument("no weight: expected one or more")
            size = self._rank.size
            shapes = [multiplied("all_gather", x, weight, size) for weight in weights]
            all_rows = (x.shape[0] * size, *x.shape[1:])
            if x.numel() == 0:
                return [x.new_zeros(shape) for shape in shapes] + [x.new_empty(all_rows)] * rows
            outs = [x.new_empty(shape) for shape in shapes]
            matrix = (math.prod(all_rows[:-1]), x.shape[-1])
            planned = self._planned(("all_gather_matmul", x.dtype, matrix),
                                    lambda: self._plan_gather(*self._tensor(matrix, x.dtype)))
            given = planned.given if x.dim() == 2 else planned.given.view(x.shape)
            given.copy_(x)
            self._multiply_gathered(planned, weights, [_matrix(out) for out in outs])
            if rows:
                outs.append(planned.result.view(all_rows).clone())
            return outs

    def multiply_and_sum(self, kind, x, weight):
        """The sum over ranks of x @ weight: this rank's rows of it, or all."""
        x, weight = _plain(x), _plain(weight)
        with self._used(x, weight):
            shape = multiplied(kind, x, weight, self._rank.size)
            if x.numel() == 0 or weight.numel() == 0:
                return x.new_zeros(shape)
            flat = _matrix(x)
            partial, out = (flat.shape[0], shape[-1]), (math.prod(shape[:-1]), shape[-1])
            planned = self._planned((kind + "_matmul", x.dtype, partial), lambda: self._plan_sums(
                kind, *self._tensor(partial, x.dtype), *self._tensor(out, x.dtype)))
            self._multiply_summed(planned, flat, weight)
            return planned.result.clone() if x.dim() == 2 else planned.result.clone().view(shape)

    def sum_and_normalise(self, x, residual, weight, eps):
        """The sum over ranks of x, added to the residual: (its RMSNorm by rows, itself)."""
        given = x, residual, weight
        with self._used(*given):
            key = ("all_reduce_rms_norm", eps, *[(each.dtype, each.shape) for each in given])
            planned = self._plans.get(key)
            if planned is None:
                shape = normalised(*given, eps)
                if x.numel() == 0:
                    return x.new_empty(shape), x.new_empty(shape)
                planned = self._planned(key, lambda: self._plan_norm_with_copies(x, eps))
            if planned.call.takes_buffers:
                return self._sum_and_normalise_at(planned.call, *map(_aligned, given))
            for to, each in zip((planned.given, *planned.beside), given):
                to.copy_(_plain(each))
            self._enqueue(planned.call.enqueue)
            return planned.result.clone(), planned.beside[0].clone()

    def _sum_and_normalise_at(self, call, x, residual, weight):
        normed, updated = torch.empty_like(x), torch.empty_like(x)
        self._enqueue(call._enqueue_at_addresses, x.data_ptr(), normed.data_ptr(), residual.data_ptr(),
                      updated.data_ptr(), weight.data_ptr())
        return normed, updated

    # ---- Tokens and their experts -----------------------------------------------------------------

    def dispatch(self, x, routing, tokens, experts):
        """Rows of the rank's experts (those that no token became are 0), offsets, places and all ranks'
        routing, as those of a TokenExchange."""
        x = _plain(x)
        with self._used(x, routing):
            shapes = dispatched(x, routing, tokens, experts, self._rank.size)
            own = self._exchange(x.dtype, tokens, x.shape[1], experts, shapes)
            own.tokens[:len(x)].copy_(x)
            own.routing[:len(x)].copy_(routing)
            own.routing[len(x):].fill_(-1)
            self._enqueue(own.call.dispatch)
            there = torch.arange(shapes[0][0], device=self._device) < own.offsets[-1]
            rows = torch.where(there[:, None], own.rows, torch.zeros((), dtype=x.dtype, device=self._device))
            return rows, own.offsets.clone(), own.places.clone(), own.all_routing.clone()

    def combine(self, results, places, routing, tokens, experts):
        """The weighted sums of this rank's `tokens` tokens; places and routing of all ranks."""
        results = _plain(results)
        with self._used(results, places, routing):
            own = self._exchange(results.dtype, tokens, results.shape[1], experts,
                                 (results.shape, (experts // self._rank.size + 1,), places.shape, routing.shape))
            own.results.copy_(results)
            own.places.copy_(places)
            own.all_routing.copy_(routing)
            self._enqueue(own.call.combine)
            return own.out.clone()

    def _exchange(self, dtype, tokens, hidden, experts, shapes):
        chosen = shapes[2][1]
        return self._planned(("token_exchange", dtype, tokens, hidden, experts, chosen), lambda: _Exchange(
            self._rank.token_exchange(tokens, hidden, experts, chosen, DTYPES[dtype]), dtype, tokens, hidden,
            shapes, self._device))

    # ---- On tensors of empty() --------------------------------------------------------------------

    def move_into(self, kind, out, x, op=None):
        with self._used(out, x):
            _expect(out, returned(kind, x, self._rank.size), x.dtype)
            _expect(x, x.shape, x.dtype)
            if x.numel() == 0:
                return
            planned = self._planned((kind, op, *_identity(out), *_identity(x)), lambda: self._plan(
                kind, x, self._buffer_of(x, "x"), out, self._buffer_of(out, "out"), op=op))
            self._enqueue(planned.call.enqueue)

    def sum_and_normalise_into(self, out, updated, x, residual, weight, eps):
        with self._used(out, updated, x, residual, weight):
            normalised(x, residual, weight, eps)
            for tensor in (out, updated, x, residual, weight):
                _expect(tensor, weight.shape if tensor is weight else x.shape, x.dtype)
            if x.numel() == 0:
                return
            key = ("all_reduce_rms_norm", eps, *(_identity(each) for each in (out, updated, x, residual, weight)))
            planned = self._planned(key, lambda: self._plan_norm(
                x, self._buffer_of(x, "x"), out, self._buffer_of(out, "out"), residual, updated, weight, eps))
            self._enqueue(planned.call.enqueue)

    def gather_and_multiply_into(self, out, rows, weight):
        out, rows, weight = map(_plain, (out, rows, weight))
        with self._used(out, rows, weight):
            own = self._own_of(rows)
            _expect(rows, rows.shape, rows.dtype)
            _expect(out, multiplied("all_gather", own, weight, self._rank.size), rows.dtype)
            planned = self._planned(("all_gather_rows", *_identity(rows)), lambda: self._plan_gather(
                rows, self._buffer_of(rows, "rows")))
            self._multiply_gathered(planned, [weight], [out])

    def multiply_and_sum_into(self, kind, out, partial, x, weight):
        out, partial, x, weight = map(_plain, (out, partial, x, weight))
        with self._used(out, partial, x, weight):
            _expect(out, multiplied(kind, x, weight, self._rank.size), x.dtype)
            _expect(partial, (*x.shape[:-1], weight.shape[1]), x.dtype)
            if x.dim() != 2:
                raise BadArgument(f"x {tuple(x.shape)}: expected a matrix")
            planned = self._planned((kind + "_rows", *_identity(out), *_identity(partial)),
                                    lambda: self._plan_sums(
                kind, partial, self._buffer_of(partial, "partial"), out, self._buffer_of(out, "out")))
            self._multiply_summed(planned, x, weight)

    # ---- Memory and ends --------------------------------------------------------------------------

    def empty(self, shape, dtype):
        """Collective: see Communicator.empty()."""
        self._rank.comm._of()
        with self._lock:
            self._drain()
            if math.prod(shape) == 0:
                return torch.empty(shape, dtype=dtype, device=self._device)
            return self._tensor(shape, dtype)[0]

    def clear(self):
        """Collective: see Communicator.clear()."""
        self._rank.comm._of()
        with self._lock:
            self._synchronize()
            calls = [planned.call for planned in self._plans.values()]
            self._plans.clear()
            for call in calls:
                call.retire()
            self._drain()

    def close(self):
        """Collective: what clear() does. BadArgument where tensors of empty() exist."""
        self.clear()
        if self._buffers:
            gc.collect()  # tensors in reference cycles
            with self._lock:
                self._drain()
        if self._buffers:
            raise BadArgument(f"{len(self._buffers)} tensors of empty() exist: expected `del` of them, and "
                              "of their views, before close()")
        if self._stream is not None:
            self._stream.close()

    # ---- Streams ----------------------------------------------------------------------------------

    def _used(self, *tensors):
        """The lock under which calls are made, where tensors are on this device."""
        if not self._rank.comm._handle:
            self._rank.comm._of()  # raises: it is not open, or not of this process
        for tensor in tensors:
            if tensor.device != self._device:
                raise BadArgument(f"a tensor on {tensor.device}: expected one on {self._device}, as the "
                                  "communicator is")
        if self._stream is None:
            self._follow()
        return self._lock

    def _follow(self):
        """A call on another stream than the last one waits for it, since it may use the same buffers.
        In a capture, which may not wait for what is outside, that is the program's business."""
        native = torch._C._cuda_getCurrentRawStream(self._device.index)
        if native != self._native:
            if self._native is not None and not torch.cuda.is_current_stream_capturing():
                torch.cuda.current_stream(self._device).wait_stream(self._stream_of(self._native))
            self._native = native

    def _stream_of(self, native):
        stream = self._streams.get(native)
        if stream is None:  # 0 and None are no new stream, as ExternalStream takes them
            stream = self._streams[native] = torch.cuda.ExternalStream(native, device=self._device) \
                if native else torch.cuda.default_stream(self._device)
        return stream

    def _enqueue(self, enqueue, *addresses):
        """Calls enqueue(stream, ...), of what Duet does."""
        if self._stream is None:
            enqueue(self._native, *addresses)
        else:
            enqueue(self._stream, *addresses)
            self._wait()

    def _wait(self):
        """Until a call on CPUs is done. Where a peer has failed its results are undefined."""
        self._stream.synchronize(self._deadline)
        why = self._rank.comm.failure()
        if why:
            raise PeerFailed(why)

    def _enqueue_rows(self, planned, multiply):
        """Calls multiply(part) so that its work follows what it needs. On CPUs, where it works at once,
        the rows of a gather are multiplied behind it."""
        if self._stream is not None:
            parts = []
            planned.call.enqueue_rows(parts.append if planned.gathers else multiply, self._stream)
            self._wait()
            for part in parts:
                multiply(part)
            return

        def on_its_stream(part):
            if (part.native or 0) == self._native:
                multiply(part)
            else:
                with torch.cuda.stream(self._stream_of(part.native)):
                    multiply(part)

        planned.call.enqueue_rows(on_its_stream, self._native)

    def _multiply_gathered(self, planned, weights, outs):
        def multiply(part):
            rows = planned.rows_at(part)
            for weight, out in zip(weights, outs):
                torch.mm(rows, weight, out=out[part.first:part.first + part.count])

        self._enqueue_rows(planned, multiply)

    def _multiply_summed(self, planned, x, weight):
        def multiply(part):
            to, rows = planned.rows_at(part), x[part.first:part.first + part.count]
            if part.adds:
                to.addmm_(rows, weight)
            else:
                torch.mm(rows, weight, out=to)

        self._enqueue_rows(planned, multiply)

    # ---- Plans ------------------------------------------------------------------------------------

    def _planned(self, key, plan):
        planned = self._plans.get(key)
        if planned is None:
            if self._stream is None and torch.cuda.is_current_stream_capturing():
                raise BadArgument(f"the first call of {key[0]} with these tensors is captured: expected one "
                                  "before the capture, which plans it")
            self._drain()
            planned = self._plans[key] = plan()
        return planned

    def _plan_with_copies(self, kind, x, shape, op):
        """Between buffers of one operator, type and shape. Large ones are in place where the collective
        can be; small ones, most of whose calls do without, need not."""
        large = self._rank.size > 1 and max(x.numel(), math.prod(shape)) * x.element_size() > _SMALL
        if large and kind == "all_gather":
            result, buffer = self._tensor(shape, x.dtype)
            return self._plan(kind, self._own_of(result), buffer, result, buffer, op=op)
        given, given_buffer = self._tensor(x.shape, x.dtype)
        result, result_buffer = given, given_buffer
        if not large or kind != "all_reduce":
            result, result_buffer = self._tensor(shape, x.dtype)
        return self._plan(kind, given, given_buffer, result, result_buffer, op=op)

    def _plan_norm_with_copies(self, x, eps):
        given, buffer = self._tensor(x.shape, x.dtype)
        residual, weight = torch.empty_like(given), torch.empty_like(given[(0,) * (x.dim() - 1)])
        return self._plan_norm(given, buffer, given, buffer, residual, residual, weight, eps)

    def _plan_norm(self, given, given_buffer, result, result_buffer, residual, updated, weight, eps):
        """Of what is beside the two buffers the addresses need not be of equal buffers on all ranks, but
        stay as long as the plan, which keeps the tensors."""
        return self._plan("all_reduce", given, given_buffer, result, result_buffer, beside=(residual, weight),
                          residual=arrays.place_of(residual), updated=arrays.place_of(updated),
                          weight=arrays.place_of(weight), epsilon=eps)

    def _plan_gather(self, rows, buffer):
        return self._plan("all_gather", self._own_of(rows), buffer, rows, buffer, columns=rows.shape[1],
                          **self._how)

    def _plan_sums(self, kind, partial, partial_buffer, out, out_buffer):
        how = dict(self._how)
        if self._stream is not None:  # all at once, before the collective
            how["ranges"] = 0
        return self._plan(kind, partial, partial_buffer, out, out_buffer, columns=partial.shape[1], **how)

    def _plan(self, kind, given, given_buffer, result, result_buffer, op=None, beside=(), **how):
        moves = kind in ("all_gather", "all_to_all")
        call = self._rank.plan(kind, place_of(given_buffer, given, moves),
                               place_of(result_buffer, result, moves), op=op or "sum", **how)
        return _Planned(call, given, result, kind == "all_gather", beside)

    # ---- Buffers ----------------------------------------------------------------------------------

    def _tensor(self, shape, dtype):
        """Collective: a tensor in a buffer, and that."""
        size = math.prod(shape) * torch.empty((), dtype=dtype).element_size()
        buffer = Buffer(self._rank, size, self._released)
        self._buffers.add(buffer)
        return buffer.tensor(shape, dtype, self._device), buffer

    def _buffer_of(self, tensor, name):
        begin = tensor.data_ptr()
        end = begin + tensor.numel() * tensor.element_size()
        for buffer in self._buffers:
            if buffer.address <= begin and end <= buffer.address + buffer.bytes:
                return buffer
        raise BadArgument(f"{name}: expected a tensor of this communicator's empty(), or a view of one")

    def _own_of(self, rows):
        if rows.dim() == 0 or rows.shape[0] % self._rank.size != 0:
            raise BadArgument(f"rows {tuple(rows.shape)}: expected a multiple of {self._rank.size}, the "
                              "ranks")
        return rows.chunk(self._rank.size)[self._rank.index]

    def _synchronize(self):
        if self._stream is None:
            torch.cuda.synchronize(self._device)

    def _drain(self):
        """Frees the memory of tensors that are gone."""
        if self._released:
            self._synchronize()
            self._released.clear()


class _Planned:
    """A planned call, with what it is given and what it gives as tensors, and what is `beside` both:
    residual and weight of a norm."""

    def __init__(self, call, given, result, gathers, beside=()):
        self.call, self.given, self.result, self.gathers, self._rows = call, given, result, gathers, {}
        self.beside = beside
        self.keeps_shape = result.shape == given.shape

    def rows_at(self, part):
        """The rows of a part (duet.Rows) as a matrix."""
        key = part.place.address, part.count
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = self._rows_at(*key)
        return rows

    def _rows_at(self, address, count):
        for tensor in (self.result, self.given):
            offset = address - tensor.data_ptr()
            if 0 <= offset < tensor.numel() * tensor.element_size():
                first = offset // (tensor.shape[1] * tensor.element_size())
                return tensor[first:first + count]
        raise Error("rows outside of both buffers of their call")


class _Exchange:
    """A TokenExchange and its memory as tensors. `shapes`: of shapes.dispatched()."""

    def __init__(self, exchange, dtype, tokens, hidden, shapes, device):
        def tensor(memory, shape, kind):
            return tensor_at(memory, shape, kind, device)

        rows, offsets, places, routing = shapes
        self.call = exchange
        self.tokens, self.out = (tensor(each, (tokens, hidden), dtype) for each in (exchange.tokens, exchange.out))
        self.rows, self.results = (tensor(each, rows, dtype) for each in (exchange.rows, exchange.results))
        self.routing = tensor(exchange.routing, (tokens, routing[1]), torch.int32)
        self.offsets = tensor(exchange.offsets, offsets, torch.int32)
        self.places = tensor(exchange.places, places, torch.int32)
        self.all_routing = tensor(exchange.all_routing, routing, torch.int32)


def _plain(tensor):
    """The tensor without gradients: sooner than all that is done with it under no_grad()."""
    return tensor.detach() if tensor.requires_grad and torch.is_grad_enabled() else tensor


def _aligned(tensor):
    """Likewise, contiguous and at a multiple of 8 bytes."""
    tensor = _plain(tensor).contiguous()
    return tensor if tensor.data_ptr() % 8 == 0 else tensor.clone()


def _matrix(tensor):
    """As rows of the last dimension."""
    return tensor if tensor.dim() == 2 else tensor.reshape(-1, tensor.shape[-1])


def _identity(tensor):
    return tensor.data_ptr(), tensor.shape, tensor.dtype


def _expect(tensor, shape, dtype):
    if tensor.shape != shape or tensor.dtype != dtype:
        raise BadArgument(f"a tensor {tuple(tensor.shape)} of {tensor.dtype}: expected {tuple(shape)} of "
                          f"{dtype}")
    if not tensor.is_contiguous():
        raise BadArgument("a tensor that is not contiguous: expected a contiguous one")
