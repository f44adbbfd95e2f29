"""Operators of PyTorch, torch.ops.duet.*, and over them functions that have gradients.

Operators return new tensors, take a communicator by its name, and have no gradients: these are of
torch.autograd.Function, which costs less at each call than an operator's own.
"""
import torch

from ..errors import BadArgument
from .communicator import calls_of, check_op, named, size_of
from .shapes import dispatched, multiplied, normalised, returned

_ops = torch.library.Library("duet", "DEF")


def _define(schema, function, fake):
    """An operator, and what it returns for tensors without data."""
    name = schema[:schema.index("(")]
    _ops.define(schema)
    for device in ("CPU", "CUDA"):
        _ops.impl(name, function, device)
    if hasattr(torch.library, "register_fake"):  # since 2.4
        torch.library.register_fake(f"duet::{name}", fake, lib=_ops)


def _define_move(kind, arguments=""):
    def function(x, comm, op=None):
        return calls_of(comm, x).move(kind, x, op)

    def fake(x, comm, op=None):
        return x.new_empty(returned(kind, x, size_of(comm)))

    _define(f"{kind}(Tensor x, str comm{arguments}) -> Tensor", function, fake)


_define_move("all_gather")
_define_move("all_to_all")
_define_move("reduce_scatter", ', str op="sum"')
_define_move("all_reduce", ', str op="sum"')


def _all_gather_matmul(x, weights, rows, comm):
    return calls_of(comm, x).gather_and_multiply(x, weights, rows)


def _fake_all_gather_matmul(x, weights, rows, comm):
    size = size_of(comm)
    outs = [x.new_empty(multiplied("all_gather", x, weight, size)) for weight in weights]
    return outs + [x.new_empty(returned("all_gather", x, size))] * rows


_define("all_gather_matmul(Tensor x, Tensor[] weights, bool rows, str comm) -> Tensor[]",
        _all_gather_matmul, _fake_all_gather_matmul)


def _define_sum(kind):
    def function(x, weight, comm):
        return calls_of(comm, x).multiply_and_sum(kind, x, weight)

    def fake(x, weight, comm):
        return x.new_empty(multiplied(kind, x, weight, size_of(comm)))

    _define(f"matmul_{kind}(Tensor x, Tensor weight, str comm) -> Tensor", function, fake)


_define_sum("reduce_scatter")
_define_sum("all_reduce")


def _all_reduce_rms_norm(x, residual, weight, eps, comm):
    return calls_of(comm, x).sum_and_normalise(x, residual, weight, eps)


def _fake_all_reduce_rms_norm(x, residual, weight, eps, comm):
    shape = normalised(x, residual, weight, eps)
    return x.new_empty(shape), x.new_empty(shape)


_define("all_reduce_rms_norm(Tensor x, Tensor residual, Tensor weight, float eps, str comm) -> (Tensor, Tensor)",
        _all_reduce_rms_norm, _fake_all_reduce_rms_norm)


def _dispatch_tokens(x, routing, tokens, experts, comm):
    return calls_of(comm, x).dispatch(x, routing, tokens, experts)


def _fake_dispatch_tokens(x, routing, tokens, experts, comm):
    rows, *others = dispatched(x, routing, tokens, experts, size_of(comm))
    return (x.new_empty(rows), *(routing.new_empty(shape) for shape in others))


def _combine_tokens(results, places, routing, tokens, experts, comm):
    return calls_of(comm, results).combine(results, places, routing, tokens, experts)


def _fake_combine_tokens(results, places, routing, tokens, experts, comm):
    return results.new_empty((tokens, results.shape[1]))


_define("dispatch_tokens(Tensor x, Tensor routing, int tokens, int experts, str comm) -> "
        "(Tensor, Tensor, Tensor, Tensor)", _dispatch_tokens, _fake_dispatch_tokens)
_define("combine_tokens(Tensor results, Tensor places, Tensor routing, int tokens, int experts, str comm) -> "
        "Tensor", _combine_tokens, _fake_combine_tokens)


# Gradients are those of the sum of all ranks' losses. Ranks make the same calls in their backward
# passes too: the same of their tensors need gradients.


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, comm):
        ctx.comm = comm
        return torch.ops.duet.all_gather(x, comm)

    @staticmethod
    def backward(ctx, grad):
        return reduce_scatter(grad, ctx.comm), None


class _ReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, comm, op):
        ctx.comm, ctx.op = comm, op
        return torch.ops.duet.reduce_scatter(x, comm, op)

    @staticmethod
    def backward(ctx, grad):
        whole = all_gather(grad, ctx.comm)
        return whole * (grad.shape[0] / whole.shape[0]) if ctx.op == "avg" else whole, None, None


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, comm, op):
        ctx.comm, ctx.op = comm, op
        return torch.ops.duet.all_reduce(x, comm, op)

    @staticmethod
    def backward(ctx, grad):
        return all_reduce(grad, ctx.comm, ctx.op), None, None


class _AllReduceRmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, residual, weight, eps, comm):
        ctx.eps, ctx.comm = eps, comm
        normed, updated = torch.ops.duet.all_reduce_rms_norm(x, residual, weight, eps, comm)
        ctx.save_for_backward(updated, weight)
        return normed, updated

    @staticmethod
    def backward(ctx, of_normed, of_updated):
        updated, weight = ctx.saved_tensors
        u, g = updated.float(), of_normed.float()
        scale = torch.rsqrt(u.pow(2).mean(-1, keepdim=True) + ctx.eps)
        of_x = of_sum = of_weight = None
        if any(ctx.needs_input_grad[:2]):
            scaled, normed = g * weight.float(), u * scale
            of_sum = scale * (scaled - normed * (scaled * normed).mean(-1, keepdim=True))
            of_sum = (of_sum + of_updated).to(updated.dtype)
        if ctx.needs_input_grad[0]:
            of_x = all_reduce(of_sum, ctx.comm)
        if ctx.needs_input_grad[2]:
            of_weight = _matrix(g * u * scale).sum(0).to(weight.dtype)
        return of_x, of_sum, of_weight, None, None


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, comm):
        ctx.comm = comm
        return torch.ops.duet.all_to_all(x, comm)

    @staticmethod
    def backward(ctx, grad):
        return all_to_all(grad, ctx.comm), None


class _AllGatherMatmul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, comm, rows, *weights):
        ctx.comm, ctx.rows = comm, rows
        ctx.save_for_backward(x, *weights)
        return tuple(torch.ops.duet.all_gather_matmul(x, weights, rows, comm))

    @staticmethod
    def backward(ctx, *grads):
        x, *weights = ctx.saved_tensors
        grads, of_rows = grads[:len(weights)], grads[len(weights):]
        of_x, of_weights = None, [None] * len(weights)
        if ctx.needs_input_grad[0]:
            joined = (grads[0], weights[0]) if len(weights) == 1 else (
                torch.cat(grads, -1), torch.cat(weights, 1))
            of_x = matmul_reduce_scatter(joined[0], joined[1].t(), ctx.comm)
            if of_rows:
                of_x = of_x + reduce_scatter(of_rows[0], ctx.comm)
        if any(ctx.needs_input_grad[3:]):  # the rows of all ranks are gathered anew
            rows = _matrix(all_gather(x, ctx.comm)).t()
            of_weights = [rows @ _matrix(grad) if needed else None
                          for grad, needed in zip(grads, ctx.needs_input_grad[3:])]
        return (of_x, None, None, *of_weights)


class _MatmulReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, comm):
        ctx.comm = comm
        ctx.save_for_backward(x, weight)
        return torch.ops.duet.matmul_reduce_scatter(x, weight, comm)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        of_x = of_weight = None
        if ctx.needs_input_grad[0]:
            of_x, rows = all_gather_matmul(grad, weight.t(), ctx.comm, return_rows=True)
        else:
            rows = all_gather(grad, ctx.comm)
        if ctx.needs_input_grad[1]:
            of_weight = _matrix(x).t() @ _matrix(rows)
        return of_x, of_weight, None


class _MatmulAllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, comm):
        ctx.comm = comm
        ctx.save_for_backward(x, weight)
        return torch.ops.duet.matmul_all_reduce(x, weight, comm)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        whole = all_reduce(grad, ctx.comm)
        of_x = whole @ weight.t() if ctx.needs_input_grad[0] else None
        of_weight = _matrix(x).t() @ _matrix(whole) if ctx.needs_input_grad[1] else None
        return of_x, of_weight, None


class _DispatchTokens(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, routing, tokens, experts, comm):
        ctx.tokens, ctx.experts, ctx.comm, ctx.count = tokens, experts, comm, len(x)
        made = torch.ops.duet.dispatch_tokens(x, routing, tokens, experts, comm)
        ctx.save_for_backward(*made[2:])
        ctx.mark_non_differentiable(*made[1:])
        return tuple(made)

    @staticmethod
    def backward(ctx, of_rows, *_):
        places, routing = ctx.saved_tensors
        with_ones = routing.clone()
        with_ones[:, places.shape[1]:] = _bits(torch.ones((), device=routing.device))
        of_x = torch.ops.duet.combine_tokens(of_rows, places, with_ones, ctx.tokens, ctx.experts, ctx.comm)
        return of_x[:ctx.count], None, None, None, None


class _CombineTokens(torch.autograd.Function):
    @staticmethod
    def forward(ctx, results, weights, own_routing, places, routing, tokens, experts, comm):
        ctx.tokens, ctx.experts, ctx.comm = tokens, experts, comm
        ctx.save_for_backward(results, weights, own_routing)
        return torch.ops.duet.combine_tokens(results, places, routing, tokens, experts, comm)[:len(weights)]

    @staticmethod
    def backward(ctx, of_sums):
        results, weights, own_routing = ctx.saved_tensors
        rows, _, places, routing = torch.ops.duet.dispatch_tokens(of_sums, own_routing, ctx.tokens, ctx.experts,
                                                                  ctx.comm)
        of_results = of_weights = None
        most, goes = len(rows), places >= 0
        if ctx.needs_input_grad[0]:
            at = torch.where(goes, places, torch.full_like(places, most)).flatten().long()
            all_weights = routing[:, places.shape[1]:].contiguous().view(torch.float32).flatten()
            of_rows = torch.zeros(most + 1, device=rows.device).scatter_(0, at, all_weights)[:most]
            of_results = (rows * of_rows[:, None]).to(results.dtype)
        if ctx.needs_input_grad[1]:
            # Of each choice, on the rank of its expert: what comes of the others is 0.
            scalars = (rows.float() * results.float()).sum(-1)
            scalars = torch.where(goes, scalars[places.clamp(min=0).long()], torch.zeros_like(scalars[:1]))
            of_weights = reduce_scatter(scalars, ctx.comm)[:len(weights)].to(weights.dtype)
        return of_results, of_weights, None, None, None, None, None, None


def _bits(weights):
    """Of fp32, as int32."""
    return weights.contiguous().view(torch.int32)


class Dispatched:
    """What dispatch_tokens() returns: `rows` (most, n) of this rank's experts, by expert and then by
    token of all ranks; `offsets` (own_experts + 1), int32, where those of each expert begin, and where
    the last one's end, behind which rows are 0; `first_expert`, the number of the first of
    `own_experts`."""

    def __init__(self, rows, offsets, first_expert, rest):
        self.rows, self.offsets, self.first_expert, self._rest = rows, offsets, first_expert, rest
        self.own_experts = len(offsets) - 1


def dispatch_tokens(x, experts, weights, count, comm, *, tokens=None):
    """Rows x (t, n) of tokens go to the ranks of their experts: `experts` (t, chosen), of `count` on all
    ranks, which divide them in order, and their `weights`, by which combine_tokens() multiplies. An
    expert of -1 adds nothing. `tokens`: the most that a rank has, equal on all, which may have fewer, or
    none; None: all have t. fp32, on GPUs also bf16."""
    name = _name(comm)
    routing = torch.cat([experts.to(torch.int32), _bits(weights.detach().float())], dim=1)
    most = len(x) if tokens is None else tokens
    if _needs_grad(x):
        made = _DispatchTokens.apply(x, routing, most, count, name)
    else:
        made = torch.ops.duet.dispatch_tokens(x, routing, most, count, name)
    rows, offsets, *all_ranks = made
    first = named(name, x.device).rank * (len(offsets) - 1)
    return Dispatched(rows, offsets, first, (weights, routing, *all_ranks, most, count, name))


def combine_tokens(results, dispatched):
    """(t, n): of each token of dispatch_tokens() the sum of its experts' results times their weights.
    `results`: as its rows, row by row. Gradients also reach the weights."""
    weights, own_routing, places, routing, tokens, experts, name = dispatched._rest
    if _needs_grad(results, weights):
        return _CombineTokens.apply(results, weights, own_routing, places, routing, tokens, experts, name)
    return torch.ops.duet.combine_tokens(results, places, routing, tokens, experts, name)[:len(weights)]


def _matrix(x):
    return x.reshape(-1, x.shape[-1])


def _needs_grad(*tensors):
    return torch.is_grad_enabled() and any([tensor.requires_grad for tensor in tensors])


def _name(comm):
    return comm if isinstance(comm, str) else comm.name


def all_gather(x, comm):
    """(n, ...) of each rank as (size * n, ...) in all, in the order of ranks. `comm`: a
    duet.torch.Communicator, its name, or that of a process group, of which one is then opened."""
    if _needs_grad(x):
        return _AllGather.apply(x, _name(comm))
    return torch.ops.duet.all_gather(x, _name(comm))


def reduce_scatter(x, comm, op="sum"):
    """(size * n, ...) of each rank added up, of which each gets its (n, ...). `op`: sum, avg, and
    without gradients max, min."""
    return _reduced(_ReduceScatter, torch.ops.duet.reduce_scatter, x, comm, op)


def all_reduce(x, comm, op="sum"):
    """The tensors of all ranks added up. `op`: sum, avg, and without gradients max, min."""
    return _reduced(_AllReduce, torch.ops.duet.all_reduce, x, comm, op)


def _reduced(function, operator, x, comm, op):
    check_op(op)
    if not _needs_grad(x):
        return operator(x, _name(comm), op)
    if op not in ("sum", "avg"):
        raise BadArgument(f"op {op!r} of a tensor that needs gradients: expected sum, avg")
    return function.apply(x, _name(comm), op)


def all_reduce_rms_norm(x, residual, weight, eps, comm):
    """The end of a transformer's block: updated = residual + all_reduce(x), as a pair of its RMSNorm,
    updated / sqrt(mean of updated^2 over the last dimension + eps) * weight, and updated. x and
    residual (..., n), weight (n)."""
    if _needs_grad(x, residual, weight):
        return _AllReduceRmsNorm.apply(x, residual, weight, eps, _name(comm))
    return torch.ops.duet.all_reduce_rms_norm(x, residual, weight, eps, _name(comm))


def all_to_all(x, comm):
    """(size * n, ...): rank r gets the r-th n rows of each rank, in the order of ranks."""
    if _needs_grad(x):
        return _AllToAll.apply(x, _name(comm))
    return torch.ops.duet.all_to_all(x, _name(comm))


def all_gather_matmul(x, weight, comm, *, return_rows=False):
    """all_gather(x) @ weight, for x (n, ..., k) and weight (k, m): rows are multiplied as they come,
    this rank's first. For a list of weights a list. With `return_rows` a pair: that, and
    all_gather(x)."""
    weights = [weight] if isinstance(weight, torch.Tensor) else list(weight)
    if _needs_grad(x, *weights):
        outs = list(_AllGatherMatmul.apply(x, _name(comm), return_rows, *weights))
    else:
        outs = torch.ops.duet.all_gather_matmul(x, weights, return_rows, _name(comm))
    products = outs[0] if isinstance(weight, torch.Tensor) else outs[:len(weights)]
    return (products, outs[-1]) if return_rows else products


def matmul_reduce_scatter(x, weight, comm):
    """reduce_scatter(x @ weight), for x (size * n, ..., k) and weight (k, m): rows are sent when they
    are made, this rank's last."""
    if _needs_grad(x, weight):
        return _MatmulReduceScatter.apply(x, weight, _name(comm))
    return torch.ops.duet.matmul_reduce_scatter(x, weight, _name(comm))


def matmul_all_reduce(x, weight, comm):
    """all_reduce(x @ weight), for x (size * n, ..., k) and weight (k, m)."""
    if _needs_grad(x, weight):
        return _MatmulAllReduce.apply(x, weight, _name(comm))
    return torch.ops.duet.matmul_all_reduce(x, weight, _name(comm))
