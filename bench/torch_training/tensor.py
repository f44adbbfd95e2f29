"""Tensor parallelism with sequence parallelism, by PyTorch's DTensor: ranks share one batch and
divide each product; between linears each has a part of every sequence.

A block's linears, norms and the table of tokens have the styles of torch.distributed.tensor.parallel.
Heads are divided as whole ones, and so is a fused linear's each part: its rows are put in the order
of ranks before they are divided. The loss is computed from each rank's columns of the logits.
"""
import functools

import torch
from torch import nn
from torch.nn import functional

from torch_training.token_loss import TokenLoss, sum_of_losses


def mesh_of(row, device):
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh(device.type, (row.ranks,))


def unfit(config, rows, ranks):
    """Why ranks do not divide the model, whose token table has so many rows; None if they do."""
    sides = {"heads": config.heads, "key and value heads": getattr(config, "kv_heads", ranks),
             "columns of the FFN": config.ffn_width, "tokens of a sequence": config.sequence,
             "rows of the token table": rows}
    for what, count in sides.items():
        if count % ranks:
            return f"{config.name} has {count} {what}, expected a multiple of {ranks} ranks"
    return None


def by_ranks(weight, parts, ranks):
    """The rows of each part divided among ranks, and those of a rank one behind the other."""
    shares = [part.chunk(ranks) for part in weight.split(parts)]
    return torch.cat([share[rank] for rank in range(ranks) for share in shares])


def fused_linears(block, config):
    """The linears of several parts, and their parts' rows."""
    if hasattr(config, "kv_heads"):
        parts = {name: list(rows.values()) for name, (_, rows) in config.linears().items()}
        return [(block.qkv, parts["qkv"]), (block.ffn_in, parts["ffn_in"])]
    return [(block.qkv, [config.width] * 3)]


def block_plan(block):
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                                   SequenceParallel)

    plan = {"norm_1": SequenceParallel(), "norm_2": SequenceParallel()}
    for name in ("qkv", "ffn_in"):
        plan[name] = ColwiseParallel(input_layouts=Shard(1))
    for name in ("attention_out", "ffn_out"):
        plan[name] = RowwiseParallel(output_layouts=Shard(1))
    for name in ("q_norm", "k_norm"):
        if hasattr(block, name):  # of whole heads, in the third dimension
            plan[name] = SequenceParallel(sequence_dim=2, use_local_output=True)
    return plan


def divide_block(block, config, mesh):
    from torch.distributed.tensor.parallel import parallelize_module

    with torch.no_grad():
        for linear, parts in fused_linears(block, config):
            linear.weight.copy_(by_ranks(linear.weight, parts, mesh.size()))
    parallelize_module(block, mesh, block_plan(block))
    block.heads //= mesh.size()
    if hasattr(block, "kv_heads"):
        block.kv_heads //= mesh.size()


def placed(parameter, mesh, placement):
    from torch.distributed.tensor import distribute_tensor

    return nn.Parameter(distribute_tensor(parameter.detach(), mesh, [placement]))


def embedded_by_ranks(model, mesh, tokens):
    """As Gpt.embedded(), of this rank's part of every sequence."""
    from torch.distributed.tensor import DTensor, Replicate, Shard

    everywhere = DTensor.from_local(tokens, mesh, [Replicate()], run_check=False)
    x = functional.embedding(everywhere, model.token_table)
    positions = model.position_table.redistribute(placements=[Shard(0)])
    return x.redistribute(placements=[Shard(1)]).to_local() + positions.to_local()


class LossByRanks(nn.Module):
    """As a TokenLoss, of x whose sequences are divided and a head whose rows are."""

    def __init__(self, whole):
        super().__init__()
        self.whole = whole

    def forward(self, x, weight, targets):
        from torch.distributed.tensor import Replicate

        x = x.redistribute(placements=[Replicate()])
        if self.whole.pieces > 1:
            return self.whole(x, weight, targets).full_tensor()
        loss = sum_of_losses(x.flatten(0, 1), weight, targets.flatten())
        return (loss / targets.numel()).full_tensor()


def split_loss(model):
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, TokenLoss) and not isinstance(parent, LossByRanks):
                setattr(parent, name, LossByRanks(child))


def tensor_parallel(model, row, device):
    """In place. All parameters become DTensors, as a fused optimizer needs them."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (RowwiseParallel, SequenceParallel,
                                                   parallelize_module)

    mesh, config = mesh_of(row, device), row.training.config
    for block in model.block:
        divide_block(block, config, mesh)
    if row.training.is_gpt:
        parallelize_module(model, mesh, {"norm": SequenceParallel()})
        model.token_table = placed(model.token_table, mesh, Shard(0))
        model.position_table = placed(model.position_table, mesh, Replicate())
        model.embedded = functools.partial(embedded_by_ranks, model, mesh)
    else:
        parallelize_module(model, mesh, {
            "token_table": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "head.norm": SequenceParallel()})
        model.head.weight = placed(model.head.weight, mesh, Shard(0))
    split_loss(model)
    if row.async_tp:
        pipeline_products(mesh)
    return model


def pipeline_products(mesh):
    """Of what torch.compile() compiles from now on: products beside what they gather and scatter."""
    import torch._inductor.config as inductor
    from torch.distributed import _symmetric_memory

    inductor._micro_pipeline_tp = True
    # Later versions of PyTorch do this by themselves.
    enable = getattr(_symmetric_memory, "enable_symm_mem_for_group", None)
    if enable is not None:
        enable(mesh.get_group().group_name)


def losses_by_ranks():
    """A context of the passes."""
    from torch.distributed.tensor.parallel import loss_parallel

    return loss_parallel()
