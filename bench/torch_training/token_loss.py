"""The cross-entropy of tokens by a head, whose logits need not be held all at once."""
from torch import nn
from torch.nn import functional

from torch_training.block import recomputed


def sum_of_losses(x, weight, targets):
    logits = functional.linear(x, weight)
    return functional.cross_entropy(logits.float(), targets, reduction="sum")


class TokenLoss(nn.Module):
    """pieces: the logits of so many parts of the tokens are computed one after the other, and once
    more in the backward pass; with one they are kept."""

    def __init__(self, pieces):
        super().__init__()
        self.pieces = pieces

    def forward(self, x, weight, targets):
        """The mean loss of x (batch, sequence, width) by a head (vocabulary, width)."""
        x, targets = x.flatten(0, 1), targets.flatten()
        if self.pieces == 1:
            return functional.cross_entropy(functional.linear(x, weight), targets)
        losses = [recomputed(sum_of_losses, part, weight, wanted)
                  for part, wanted in zip(x.chunk(self.pieces), targets.chunk(self.pieces))]
        return sum(losses) / len(targets)
