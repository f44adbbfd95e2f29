"""Duet's collectives in PyTorch, of 1.13 or later: docs/python.md.

    import torch.distributed as dist
    import duet.torch

    dist.init_process_group()
    with duet.torch.Communicator() as comm:          # of the default group
        y = duet.torch.all_reduce(x, comm)            # differentiable
        y = duet.torch.all_gather_matmul(x, w, comm)  # rows are multiplied as they come
"""
import os

import torch

if not torch.cuda.is_initialized():  # CUDA reads it when it starts: docs/library.md, hardware queues
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")

from .communicator import Communicator
from .operators import (Dispatched, all_gather, all_gather_matmul, all_reduce, all_reduce_rms_norm, all_to_all,
                        combine_tokens, dispatch_tokens, matmul_all_reduce, matmul_reduce_scatter,
                        reduce_scatter)
from .symmetric import fused_all_gather_matmul, fused_matmul_reduce_scatter

__all__ = ["Communicator", "Dispatched", "all_gather", "all_gather_matmul", "all_reduce",
           "all_reduce_rms_norm", "all_to_all", "combine_tokens", "dispatch_tokens", "fused_all_gather_matmul", "fused_matmul_reduce_scatter", "matmul_all_reduce",
           "matmul_reduce_scatter", "reduce_scatter"]
