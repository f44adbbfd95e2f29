"""Shapes of what operators return, and what they refuse: for tensors and for torch's fake ones."""
import torch

from ..errors import BadArgument
from .buffers import NORMED, SUMMED


def returned(kind, x, size):
    """The shape that a collective returns. Collectives but all_reduce divide or join the first
    dimension."""
    if kind in ("reduce_scatter", "all_reduce") and x.dtype not in SUMMED:
        raise BadArgument(f"{kind} of {x.dtype}: expected {', '.join(map(str, SUMMED))}")
    if kind == "all_reduce":
        return x.shape
    if x.dim() == 0:
        raise BadArgument(f"{kind} of a number: expected a tensor with a first dimension")
    if kind == "all_gather":
        return (x.shape[0] * size, *x.shape[1:])
    if x.shape[0] % size != 0:
        raise BadArgument(f"{kind} of {x.shape[0]} rows: expected a multiple of {size}, the ranks")
    return x.shape if kind == "all_to_all" else (x.shape[0] // size, *x.shape[1:])


def multiplied(kind, x, weight, size):
    """The shape of x @ weight whose rows are gathered before (`all_gather`) or summed behind."""
    if x.dim() < 2 or weight.dim() != 2 or x.shape[-1] != weight.shape[0]:
        raise BadArgument(f"a product of {tuple(x.shape)} and {tuple(weight.shape)}: expected (..., k) "
                          "and (k, n)")
    if x.dtype != weight.dtype or x.dtype not in SUMMED:
        raise BadArgument(f"a product of {x.dtype} and {weight.dtype}: expected one type of "
                          f"{', '.join(map(str, SUMMED))}")
    if x.device != weight.device:
        raise BadArgument(f"a product of tensors on {x.device} and {weight.device}: expected one device")
    return (*returned(kind, x, size)[:-1], weight.shape[1])


def dispatched(x, routing, tokens, experts, size):
    """The shapes of what a dispatch returns: rows, offsets, places, all ranks' routing."""
    if x.dim() != 2 or x.dtype not in (torch.float32, torch.bfloat16):
        raise BadArgument(f"tokens {tuple(x.shape)} of {x.dtype}: expected a matrix of torch.float32 or "
                          "torch.bfloat16")
    if routing.dtype != torch.int32 or routing.dim() != 2 or routing.shape[0] != x.shape[0]:
        raise BadArgument(f"a routing {tuple(routing.shape)} of {routing.dtype}: expected experts and weights "
                          f"(tokens, chosen) of {x.shape[0]} tokens")
    if x.shape[0] > tokens or tokens < 1:
        raise BadArgument(f"{x.shape[0]} tokens: expected tokens={tokens} at most, and that 1 or more")
    if experts < 1 or experts % size != 0:
        raise BadArgument(f"{experts} experts: expected a multiple of {size}, the ranks")
    chosen = routing.shape[1] // 2
    most = size * tokens * min(chosen, experts // size)
    return ((most, x.shape[1]), (experts // size + 1,), (size * tokens, chosen), (size * tokens, 2 * chosen))


def normalised(x, residual, weight, eps):
    """The shape of x whose sum over ranks is added to a residual, and normalised by rows."""
    if x.dtype not in NORMED:
        raise BadArgument(f"all_reduce_rms_norm of {x.dtype}: expected {', '.join(map(str, NORMED))}")
    if x.dim() == 0 or weight.shape != x.shape[-1:] or residual.shape != x.shape:
        raise BadArgument(f"a residual {tuple(residual.shape)} and a weight {tuple(weight.shape)} of x "
                          f"{tuple(x.shape)}: expected x's shape, and its last dimension")
    if residual.dtype != x.dtype or weight.dtype != x.dtype:
        raise BadArgument(f"x of {x.dtype}, residual of {residual.dtype} and weight of {weight.dtype}: "
                          "expected one type")
    if not eps >= 0:
        raise BadArgument(f"eps {eps}: expected 0 or more")
    return x.shape
