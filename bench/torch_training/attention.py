"""Causal attention by PyTorch's own kernels."""
import math

import torch
from torch.nn import functional

BACKENDS = ("auto", "cudnn", "flash")
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])


def choose_backend(name):
    """Of all later calls in this process; "auto": as PyTorch chooses."""
    if name == "auto":
        return
    torch.backends.cuda.enable_flash_sdp(name == "flash")
    torch.backends.cuda.enable_cudnn_sdp(name == "cudnn")
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_math_sdp(False)


def attend(query, key, value):
    """Each (batch, heads, sequence, head width); key and value may have fewer heads, a divisor."""
    grouped = query.size(1) // key.size(1)
    if grouped > 1 and VERSION >= (2, 5):
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True,
                                                       enable_gqa=True)
    if grouped > 1:
        key, value = (each.repeat_interleave(grouped, dim=1) for each in (key, value))
    if VERSION >= (2, 0):
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return torch.softmax(scores.masked_fill(later, -math.inf), dim=-1) @ value
