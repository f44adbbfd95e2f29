"""The MLP of the training study."""
from torch import nn
from torch.nn import functional


class Mlp(nn.Module):
    """Linears without biases, and ReLU between them."""

    def __init__(self, widths):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(inputs, outputs, bias=False)
                                     for inputs, outputs in zip(widths, widths[1:]))

    def forward(self, x, target):
        for linear in self.linears[:-1]:
            x = functional.relu(linear(x))
        return functional.mse_loss(self.linears[-1](x), target)
