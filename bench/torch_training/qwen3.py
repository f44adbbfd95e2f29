"""The Qwen3 of specs/training/qwen3.toml."""
import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional

from torch_training.attention import attend
from torch_training.block import Block
from torch_training.lora import Linear
from torch_training.token_loss import TokenLoss

ROPE_THETA, NORM_EPSILON = 1e6, 1e-6  # of Qwen/Qwen3-8B's config.json
DEVIATION = 0.02  # its initializer_range
HAS_RMS_NORM = hasattr(functional, "rms_norm")  # PyTorch 2.4


@dataclasses.dataclass
class Qwen3Config:
    name: str
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    width: int
    ffn_width: int
    vocabulary: int
    batch: int
    sequence: int
    lora: int = 0  # the rank of adapters; 0: all parameters are trained

    def model_name(self):
        return f"qwen3-{self.name}" + (f"-lora{self.lora}" if self.lora else "")

    def untrained_loss(self):
        """Logits begin normal, of variance v = d times that of the head."""
        return math.log(self.vocabulary) + DEVIATION**2 * self.width / 2

    def attention_width(self):
        return self.heads * self.head_width

    def linears(self):
        """Of a block: the inputs, and the rows of each part."""
        d, f, q, k = (self.width, self.ffn_width, self.attention_width(),
                      self.kv_heads * self.head_width)
        return {"qkv": (d, {"q": q, "k": k, "v": k}), "attention_out": (q, {"o": d}),
                "ffn_in": (d, {"gate": f, "up": f}), "ffn_out": (f, {"down": d})}

    def linear_count(self):
        """Parameters of a block's linears."""
        return sum(inputs * sum(parts.values()) for inputs, parts in self.linears().values())

    def adapter_count(self):
        """Of a block, as Duet counts: adapters of one linear lie side by side, with the zeros
        between them."""
        return sum(self.lora * len(parts) * (inputs + sum(parts.values()))
                   for inputs, parts in self.linears().values())

    def parameter_count(self):
        d = self.width
        block = self.linear_count() + self.adapter_count() + 2 * d + 2 * self.head_width
        return self.layers * block + 2 * self.vocabulary * d + d

    def attention_flop(self):
        """Of one product of the causal half, per token."""
        return self.layers * self.attention_width() * self.sequence

    def multiplied(self):
        """Parameters that a token is multiplied with. Frozen ones, of which there are no
        gradients, count 4 instead of 6 FLOP."""
        matrices = self.layers * self.linear_count() + self.vocabulary * self.width
        return matrices * (4 / 6 if self.lora else 1) + self.layers * self.adapter_count()

    def block_flop(self):
        """As GptConfig.block_flop(), without adapters."""
        without_last = self.linear_count() - self.width * self.ffn_width
        return self.layers * 2 * without_last + 2 * self.attention_flop()


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        if HAS_RMS_NORM:
            return functional.rms_norm(x, self.weight.shape, self.weight, NORM_EPSILON)
        squares = x.float().pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(squares + NORM_EPSILON)).to(x.dtype)


def rotary_tables(sequence, head_width, device):
    """Cosines and sines, fp32 (sequence, head_width): both halves have the same angles."""
    powers = torch.arange(0, head_width, 2, dtype=torch.float32, device=device) / head_width
    positions = torch.arange(sequence, dtype=torch.float32, device=device)
    angles = torch.outer(positions, ROPE_THETA ** -powers).repeat(1, 2)
    return angles.cos(), angles.sin()


def rotated(x, cosines, sines):
    first, second = x.chunk(2, dim=-1)
    return (x * cosines + torch.cat((-second, first), dim=-1) * sines).to(x.dtype)


class Qwen3Block(Block):
    def __init__(self, config):
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads
        linears = {name: Linear(inputs, parts, config.lora)
                   for name, (inputs, parts) in config.linears().items()}
        self.norm_1 = RmsNorm(config.width)
        self.qkv = linears["qkv"]
        self.q_norm = RmsNorm(config.head_width)
        self.k_norm = RmsNorm(config.head_width)
        self.attention_out = linears["attention_out"]
        self.norm_2 = RmsNorm(config.width)
        self.ffn_in = linears["ffn_in"]
        self.ffn_out = linears["ffn_out"]

    def attention(self, x, cosines, sines):
        qkv = self.qkv(x)  # of ranks that divide it: of all tokens
        batch, sequence, _ = qkv.shape
        heads = self.heads + 2 * self.kv_heads
        q, k, v = (qkv.view(batch, sequence, heads, -1)
                   .split((self.heads, self.kv_heads, self.kv_heads), dim=2))
        q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        out = attend(rotated(q, cosines, sines), rotated(k, cosines, sines), v)
        return self.attention_out(out.transpose(1, 2).reshape(batch, sequence, -1))

    def body(self, x, cosines, sines):
        x = x + self.attention(self.norm_1(x), cosines, sines)
        gate, up = self.ffn_in(self.norm_2(x)).chunk(2, dim=-1)
        return x + self.ffn_out(functional.silu(gate) * up)


class Head(nn.Module):
    """The last norm, the head and the loss."""

    def __init__(self, config, pieces):
        super().__init__()
        self.norm = RmsNorm(config.width)
        self.weight = nn.Parameter(torch.empty(config.vocabulary, config.width))
        self.loss = TokenLoss(pieces)

    def forward(self, x, targets):
        return self.loss(self.norm(x), self.weight, targets)


class Qwen3(nn.Module):
    """Duet's Qwen3. With adapters all else is frozen."""

    def __init__(self, config, pieces=8):
        super().__init__()
        self.token_table = nn.Embedding(config.vocabulary, config.width)
        self.block = nn.ModuleList(Qwen3Block(config) for _ in range(config.layers))
        self.head = Head(config, pieces)
        tables = rotary_tables(config.sequence, config.head_width, self.head.weight.device)
        self.register_buffer("cosines", tables[0], persistent=False)
        self.register_buffer("sines", tables[1], persistent=False)
        if config.lora:
            for name, each in self.named_parameters():
                each.requires_grad_(name.endswith(("_a", "_b")))

    def initialise(self):
        """Norms are 1 as they were made."""
        for each in (self.token_table.weight, self.head.weight):
            nn.init.normal_(each, std=DEVIATION)
        for each in self.modules():
            if isinstance(each, Linear):
                each.initialise(DEVIATION)

    def sharded_parts(self):
        """As Gpt.sharded_parts(). The head's backward pass follows its forward pass."""
        return [(self.token_table, True), *((block, True) for block in self.block),
                (self.head, False)]

    def forward(self, tokens, targets):
        x = self.token_table(tokens)
        for block in self.block:
            x = block(x, self.cosines, self.sines)
        return self.head(x, targets)
