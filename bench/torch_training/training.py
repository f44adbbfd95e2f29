"""What a row trains: a model, its data, its optimizer, and what its record says of them."""
import torch

from torch_training.gpt import Gpt
from torch_training.mlp import Mlp
from torch_training.qwen3 import Qwen3


class TokenTraining:
    """A GPT or a Qwen3 on random tokens, by a fused AdamW.

    recompute: of RECOMPUTES. pieces: of the head, or None for the model's own. padding: the rows of
    a GPT's token table are a multiple of it.
    """

    rate_name = "tokens_per_s"

    def __init__(self, config, recompute="none", pieces=None, padding=1):
        self.config = config
        self.name = config.model_name()
        self.batch = config.batch
        self.recompute = recompute
        self.is_gpt = not hasattr(config, "kv_heads")
        self.pieces = pieces or (1 if self.is_gpt else 8)
        self.rows = -(-config.vocabulary // padding) * padding
        self.guess = config.untrained_loss()
        self.items = config.batch * config.sequence  # of a step
        self.flop = {rate: flop * self.items for rate, flop in self.flop_per_token().items()}
        self.cost = {"tokens": float(self.items)}
        padded = self.rows != config.vocabulary
        self.engine_ending = "-padded" if padded else ""
        self.notes = {"vocabulary": f"padded to {self.rows}"} if padded else {}
        if self.pieces > 1:
            self.notes["head_pieces"] = str(self.pieces)

    def flop_per_token(self):
        """By the counts of docs/training.md."""
        config = self.config
        attention, six_n = config.attention_flop(), 6 * config.parameter_count()
        model = 6 * config.multiplied() + 6 * attention
        recomputed = config.block_flop() if self.recompute == "block" else 0
        if self.pieces > 1:
            recomputed += 2 * config.vocabulary * config.width
        return {"tflops": model, "six_n_tflops": six_n,
                "six_n_attention_tflops": six_n + 12 * attention,
                "hardware_tflops": model + attention + recomputed}

    def axes(self, recipe):
        config = self.config
        recompute = {} if self.recompute == "none" else {"recompute": self.recompute}
        return {"model": self.name, "recipe": recipe, "batch": config.batch,
                "sequence": config.sequence, "layers": config.layers,
                "parameters": config.parameter_count(), **recompute}

    def make_model(self):
        if self.is_gpt:
            model = Gpt(self.config, self.rows, self.pieces)
        else:
            model = Qwen3(self.config, self.pieces)
        model.initialise()
        for block in model.block:
            block.recompute = self.recompute == "block"
        return model

    def make_data(self, device, dtype):
        shape = (self.config.batch, self.config.sequence)
        return [torch.zeros(shape, dtype=torch.int64, device=device) for _ in range(2)]

    def renew(self, data):
        for each in data:
            each.random_(0, self.config.vocabulary)

    def make_optimizer(self, model, on_gpu, captured):
        trained = [each for each in model.parameters() if each.requires_grad]
        matrices = [each for each in trained if each.dim() >= 2]
        norms = [each for each in trained if each.dim() < 2]
        groups = [{"params": params, "weight_decay": decay}
                  for params, decay in ((matrices, 0.01), (norms, 0.0)) if params]
        own = {"fused": True, "capturable": captured} if on_gpu else {}
        return torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.999), eps=1e-8, **own)


class MlpTraining:
    """The MLP on normal numbers, by a fused SGD."""

    rate_name = "samples_per_s"
    name = "mlp"
    guess = 1.0  # targets are standard normal, and a model that knows nothing answers 0
    engine_ending = ""

    def __init__(self, widths, batch):
        self.widths = widths
        self.batch = self.items = batch
        self.parameters = sum(a * b for a, b in zip(widths, widths[1:]))
        self.cost = {"samples": float(batch)}
        # The input has no gradient.
        self.flop = {"tflops": (6 * self.parameters - 2 * widths[0] * widths[1]) * batch}
        self.notes = {"widths": ",".join(map(str, widths))}

    def axes(self, recipe):
        return {"model": self.name, "recipe": recipe, "batch": self.batch,
                "layers": len(self.widths) - 1, "parameters": self.parameters}

    def make_model(self):
        return Mlp(self.widths)

    def make_data(self, device, dtype):
        return [torch.zeros(self.batch, width, dtype=dtype, device=device)
                for width in (self.widths[0], self.widths[-1])]

    def renew(self, data):
        for each in data:
            each.normal_()

    def make_optimizer(self, model, on_gpu, captured):
        own = {"fused": True} if on_gpu else {}
        return torch.optim.SGD(model.parameters(), lr=1e-3, **own)
