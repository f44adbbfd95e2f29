"""A training step as PyTorch's users run it fast."""
import contextlib

import torch

from torch_training.attention import choose_backend
from torch_training.parallel import data_parallel, sharded, without_communication
from torch_training.tensor import losses_by_ranks, tensor_parallel
from torch_training.token_loss import TokenLoss

RECIPES = ("fp32", "amp", "bf16")
MODES = ("eager", "compile", "compile-blocks", "graph", "graph-blocks")
CAPTURE_AFTER = 3  # steps


def make_model(row, device):
    """With the same parameters on each rank."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(dtype_of(row))
    try:
        with device if hasattr(device, "__enter__") else contextlib.nullcontext():  # PyTorch 2
            return row.training.make_model()
    finally:
        torch.set_default_dtype(usual)


def dtype_of(row):
    return torch.bfloat16 if row.recipe == "bf16" else torch.float32


def compile_blocks(model, split=False):
    """Each block and the loss for themselves: one block is compiled for all, and what gathers and
    reduces runs between them. split: among ranks, whose loss runs eagerly."""
    from torch._dynamo import config  # slow to import

    config.optimize_ddp = False  # otherwise DDP's buckets would cut blocks into pieces
    for index, block in enumerate(model.block):
        model.block[index] = torch.compile(block, dynamic=False, fullgraph=True)
    for each in model.modules():
        if isinstance(each, TokenLoss) and not split:
            each.compile(dynamic=False, fullgraph=True)


def divided(model, row, device):
    if row.parallel == "ddp":
        return data_parallel(model, row, device)
    return sharded(model, row, device) if row.parallel == "fsdp2" else model


def context_of_passes(model, row):
    return losses_by_ranks() if row.parallel == "tp" else without_communication(model, row)


def is_captured(row):
    return row.mode.startswith("graph")


class Step:
    """A call enqueues a step and returns its loss."""

    def __init__(self, row, device, rank):
        choose_backend(row.attention)
        torch.use_deterministic_algorithms(row.deterministic)
        torch.manual_seed(1)
        model = make_model(row, device)
        split = row.parallel == "tp"
        if split:
            model = tensor_parallel(model, row, device)
        torch.manual_seed(1 if split else 1 + rank)  # of its data
        if row.mode in ("compile-blocks", "graph-blocks"):
            compile_blocks(model, split)
        self.row, self.device = row, device
        self.model = divided(model, row, device)
        self.data = row.training.make_data(device, dtype_of(row))
        self.optimizer = row.training.make_optimizer(self.model, device.type == "cuda",
                                                     is_captured(row))
        whole = row.mode in ("compile", "graph")
        self.loss_of = torch.compile(self.model, dynamic=False) if whole else self.model
        # FSDP2 casts by itself, what it gathers.
        self.casts = row.recipe == "amp" and row.parallel != "fsdp2"

    def __call__(self):
        self.row.training.renew(self.data)
        self.optimizer.zero_grad(set_to_none=True)
        with context_of_passes(self.model, self.row):
            with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.casts):
                loss = self.loss_of(*self.data)
            loss.backward()
        self.optimizer.step()
        return loss.detach()


def captured(step):
    """The step as one graph. Gradients are None before the capture, so that the graph owns them and
    its backward pass writes them."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(CAPTURE_AFTER):
            step()
    torch.cuda.current_stream().wait_stream(side)
    step.optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss

    return replay
