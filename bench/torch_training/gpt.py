"""The GPT of specs/training/gpt.toml."""
import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional

from torch_training.attention import attend
from torch_training.block import Block
from torch_training.token_loss import TokenLoss


@dataclasses.dataclass
class GptConfig:
    name: str
    layers: int
    heads: int
    width: int
    ffn_width: int
    vocabulary: int
    batch: int
    sequence: int

    def model_name(self):
        return self.name

    def untrained_loss(self):
        return math.log(self.vocabulary)

    def parameter_count(self):
        d = self.width
        block = 4 * d * d + 2 * d * self.ffn_width + 4 * d
        return self.layers * block + (self.vocabulary + self.sequence + 2) * d

    def attention_flop(self):
        """Of one product of the causal half, per token."""
        return self.layers * self.width * self.sequence

    def multiplied(self):
        """Parameters that a token is multiplied with."""
        d = self.width
        return self.layers * (4 * d * d + 2 * d * self.ffn_width) + self.vocabulary * d

    def block_flop(self):
        """Of the forward pass of all blocks but for the last product, which a backward pass does
        not need; per token."""
        d = self.width
        return self.layers * (8 * d * d + 2 * d * self.ffn_width) + 2 * self.attention_flop()


class GptBlock(Block):
    def __init__(self, config):
        super().__init__()
        d = config.width
        self.heads = config.heads
        self.norm_1 = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.attention_out = nn.Linear(d, d, bias=False)
        self.norm_2 = nn.LayerNorm(d)
        self.ffn_in = nn.Linear(d, config.ffn_width, bias=False)
        self.ffn_out = nn.Linear(config.ffn_width, d, bias=False)

    def attention(self, x):
        qkv = self.qkv(x)  # of ranks that divide it: of all tokens
        batch, sequence, d = qkv.size(0), qkv.size(1), qkv.size(2) // 3
        by_heads = [each.view(batch, sequence, self.heads, d // self.heads).transpose(1, 2)
                    for each in qkv.split(d, dim=2)]
        out = attend(*by_heads)
        return self.attention_out(out.transpose(1, 2).reshape(batch, sequence, d))

    def body(self, x):
        x = x + self.attention(self.norm_1(x))
        hidden = functional.gelu(self.ffn_in(self.norm_2(x)), approximate="tanh")
        return x + self.ffn_out(hidden)


class Gpt(nn.Module):
    """Duet's GPT, with Duet's names of parameters, in Duet's order. `rows` of the token table: the
    vocabulary, or more."""

    def __init__(self, config, rows=None, pieces=1):
        super().__init__()
        self.token_table = nn.Parameter(torch.empty(rows or config.vocabulary, config.width))
        self.position_table = nn.Parameter(torch.empty(config.sequence, config.width))
        self.block = nn.ModuleList(GptBlock(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.loss = TokenLoss(pieces)

    def initialise(self):
        """As GPT-2's parameters. LayerNorms are 1 and 0 as they were made."""
        residual = 0.02 / math.sqrt(2 * len(self.block))
        for name, each in self.named_parameters():
            if each.dim() < 2:
                continue
            into_residual = name.endswith(("attention_out.weight", "ffn_out.weight"))
            nn.init.normal_(each, std=residual if into_residual else 0.02)

    def sharded_parts(self):
        """What FSDP2 gathers by itself, and whether it frees that behind the forward pass. The rest
        is its root."""
        return [(block, True) for block in self.block]

    def embedded(self, tokens):
        return functional.embedding(tokens, self.token_table) + self.position_table

    def forward(self, tokens, targets):
        x = self.embedded(tokens)
        for block in self.block:
            x = block(x)
        return self.loss(self.norm(x), self.token_table, targets)
