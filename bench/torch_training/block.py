"""A block of a model, whose activations the backward pass may compute once more."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

RECOMPUTES = ("none", "block")


def recomputed(function, *inputs):
    """Keeps the inputs alone. Nothing is random inside, so that no random state is kept."""
    return checkpoint(function, *inputs, use_reentrant=False, preserve_rng_state=False)


class Block(nn.Module):
    """A subclass has body(x, ...)."""

    recompute = False

    def forward(self, *inputs):
        if self.recompute and torch.is_grad_enabled():
            return recomputed(self.body, *inputs)
        return self.body(*inputs)
