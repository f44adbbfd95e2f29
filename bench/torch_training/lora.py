"""Low-rank adapters (arXiv 2106.09685), as the peft library's Linear adds them."""
import math

import torch
from torch import nn
from torch.nn import functional


class Linear(nn.Linear):
    """A linear without a bias, of several linears' rows one behind the other.

    parts: the rows of each by its name. rank: of each one's adapter, whose output is added times 2
    (alpha is twice the rank); the weight is then frozen. 0: no adapters.
    """

    def __init__(self, inputs, parts, rank=0):
        super().__init__(inputs, sum(parts.values()), bias=False)
        self.weight.requires_grad_(rank == 0)
        self.names = list(parts) if rank > 0 else []
        for name in self.names:
            self.register_parameter(f"{name}_a", nn.Parameter(torch.empty(rank, inputs)))
            self.register_parameter(f"{name}_b", nn.Parameter(torch.empty(parts[name], rank)))

    def initialise(self, deviation):
        nn.init.normal_(self.weight, std=deviation)
        for name in self.names:
            nn.init.kaiming_uniform_(getattr(self, f"{name}_a"), a=math.sqrt(5))
            nn.init.zeros_(getattr(self, f"{name}_b"))

    def forward(self, x):
        y = functional.linear(x, self.weight)
        if not self.names:
            return y
        added = [functional.linear(functional.linear(x, getattr(self, f"{name}_a")),
                                   getattr(self, f"{name}_b")) for name in self.names]
        return y + 2 * (torch.cat(added, dim=-1) if len(added) > 1 else added[0])
