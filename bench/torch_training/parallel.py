"""How PyTorch trains one model on several devices: process groups, DDP and FSDP2."""
import contextlib
import datetime

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel


class Alone:
    """A rank without others."""

    rank = 0

    def barrier(self):
        pass

    def largest(self, values):
        return values

    def mean(self, value):
        return value


class Group:
    """This rank and all others. Calls are collective."""

    def __init__(self, rank, ranks, device, address, limit):
        """address: as init_process_group takes it; limit: seconds of a call."""
        self.rank, self.ranks, self.device = rank, ranks, device
        on_gpu = device.type == "cuda"
        own = {"device_id": device} if on_gpu else {}
        distributed.init_process_group("nccl" if on_gpu else "gloo", init_method=address, rank=rank,
                                       world_size=ranks,
                                       timeout=datetime.timedelta(seconds=limit), **own)

    def barrier(self):
        self.largest([0.0])
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def largest(self, values):
        """Of all ranks, place by place."""
        return self._reduced(values, distributed.ReduceOp.MAX)

    def mean(self, value):
        return self._reduced([value], distributed.ReduceOp.SUM)[0] / self.ranks

    def _reduced(self, values, operation):
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(tensor, operation)
        return tensor.tolist()


def data_parallel(model, row, device):
    """By DistributedDataParallel: buckets of gradients are summed beside the backward pass."""
    # DDPOptimizer, which cuts a compiled model into buckets, needs a graph that may change.
    static = row.mode != "compile" and row.communicates
    return DistributedDataParallel(
        model, device_ids=[device.index] if device.type == "cuda" else None,
        bucket_cap_mb=row.bucket_mb, gradient_as_bucket_view=True, static_graph=static)


def sharded(model, row, device):
    """By FSDP2, in place: a part's parameters are gathered before each of its passes and freed
    behind it, if the row does not keep them. Those of the root stay until the backward pass."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    policy = MixedPrecisionPolicy()
    if row.recipe == "amp":
        # Inputs keep their dtype: the tables of positions are fp32.
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32,
                                      cast_forward_inputs=False)
    usual = {"mesh": init_device_mesh(device.type, (row.ranks,)), "mp_policy": policy}
    for part, reshards in model.sharded_parts():
        fully_shard(part, reshard_after_forward=reshards and not row.keep_gathered, **usual)
    fully_shard(model, **usual)
    return model


def without_communication(model, row):
    """A context of the passes."""
    if row.parallel == "ddp" and not row.communicates:
        return model.no_sync()
    return contextlib.nullcontext()
