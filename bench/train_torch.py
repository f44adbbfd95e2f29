#!/usr/bin/env python3
"""PyTorch's training step of the models that `duet train` measures, on one GPU or on the CPU.

  python3 bench/train_torch.py --model small,medium --recipe amp,bf16 --mode eager,compile,graph
  python3 bench/train_torch.py --kind mlp --recipe fp32,bf16 --mode graph --json mlp.jsonl

Each model, recipe and mode is a row. A step makes new random tokens on the device, then runs the
forward pass, the backward pass and the optimiser. GPT models are those of specs/training/gpt.toml,
trained by a fused AdamW; the MLP is trained by a fused SGD.

Recipes: fp32 (without TF32); amp (fp32 parameters, autocast to bf16); bf16 (all in bf16).
Modes: eager; compile (torch.compile of model and loss); graph (compile, and the whole step captured
as one CUDA graph).

A row is timed by events between steps that are enqueued back to back. It fails if the loss of the
last step is not within 1 of that of a guess. With --json the rows become a journal that `duet
compare` and `duet report` read. Exits with 1 if a row failed.
"""
import argparse
import contextlib
import dataclasses
import gc
import itertools
import json
import math
import os
import pathlib
import platform
import shlex
import statistics
import sys
import time
import tomllib

import torch
from torch import nn
from torch.nn import functional

MODELS = pathlib.Path(__file__).resolve().parent.parent / "specs/training/gpt.toml"
RECIPES = ("fp32", "amp", "bf16")
MODES = ("eager", "compile", "graph")
# "Benchmark 2: Simple Training Loop" of the MI350X training study.
MLP_WIDTHS = (4096, 8192, 8192, 4096)
MLP_BATCH = 256
WARM_UP_SECONDS = 1.0
LEAST_STEPS = 3
STEPS_AHEAD = 4  # how many steps the CPU may enqueue before the oldest has ended


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"train_torch.py: {message}", file=sys.stderr)
        sys.exit(2)


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

    def parameter_count(self):
        d = self.width
        block = 4 * d * d + 2 * d * self.ffn_width + 4 * d
        return self.layers * block + (self.vocabulary + self.sequence + 2) * d

    def flop_per_token(self):
        """By the counts of docs/training.md."""
        d, attention = self.width, self.layers * self.width * self.sequence
        multiplied = self.layers * (4 * d * d + 2 * d * self.ffn_width) + self.vocabulary * d
        six_n = 6 * self.parameter_count()
        model = 6 * multiplied + 6 * attention
        return {"tflops": model, "six_n_tflops": six_n,
                "six_n_attention_tflops": six_n + 12 * attention,
                "hardware_tflops": model + attention}


def attend(query, key, value):
    """Causal attention; by its definition before PyTorch 2, which has none."""
    if hasattr(functional, "scaled_dot_product_attention"):
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return torch.softmax(scores.masked_fill(later, -math.inf), dim=-1) @ value


class Block(nn.Module):
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
        batch, sequence, d = x.shape
        by_heads = [each.view(batch, sequence, self.heads, d // self.heads).transpose(1, 2)
                    for each in self.qkv(x).split(d, dim=2)]
        out = attend(*by_heads)
        return self.attention_out(out.transpose(1, 2).reshape(batch, sequence, d))

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        hidden = functional.gelu(self.ffn_in(self.norm_2(x)), approximate="tanh")
        return x + self.ffn_out(hidden)


class Gpt(nn.Module):
    """Duet's GPT, with Duet's names of parameters, in Duet's order. `rows` of the token table: the
    vocabulary, or more."""

    def __init__(self, config, rows=None):
        super().__init__()
        self.token_table = nn.Parameter(torch.empty(rows or config.vocabulary, config.width))
        self.position_table = nn.Parameter(torch.empty(config.sequence, config.width))
        self.block = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)

    def initialise(self):
        """As GPT-2's parameters. LayerNorms are 1 and 0 as they were made."""
        residual = 0.02 / math.sqrt(2 * len(self.block))
        for name, each in self.named_parameters():
            if each.dim() < 2:
                continue
            into_residual = name.endswith(("attention_out.weight", "ffn_out.weight"))
            nn.init.normal_(each, std=residual if into_residual else 0.02)

    def forward(self, tokens, targets):
        x = functional.embedding(tokens, self.token_table) + self.position_table
        for block in self.block:
            x = block(x)
        logits = functional.linear(self.norm(x), self.token_table)
        return functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


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


class GptTraining:
    rate_name = "tokens_per_s"

    def __init__(self, config, padding):
        self.config = config
        self.name = config.name
        self.batch = config.batch
        self.rows = -(-config.vocabulary // padding) * padding
        self.guess = math.log(config.vocabulary)  # the loss of a model that knows nothing
        self.items = config.batch * config.sequence  # of a step
        self.flop = {rate: flop * self.items for rate, flop in config.flop_per_token().items()}
        self.cost = {"tokens": float(self.items)}
        padded = self.rows != config.vocabulary
        self.engine_ending = "-padded" if padded else ""
        self.notes = {"vocabulary": f"padded to {self.rows}"} if padded else {}

    def axes(self, recipe):
        config = self.config
        return {"model": config.name, "recipe": recipe, "batch": config.batch,
                "sequence": config.sequence, "layers": config.layers,
                "parameters": config.parameter_count()}

    def make_model(self):
        model = Gpt(self.config, self.rows)
        model.initialise()
        return model

    def make_data(self, device, dtype):
        shape = (self.config.batch, self.config.sequence)
        return [torch.zeros(shape, dtype=torch.int64, device=device) for _ in range(2)]

    def renew(self, data):
        for each in data:
            each.random_(0, self.config.vocabulary)

    def make_optimizer(self, model, captured):
        matrices = [each for each in model.parameters() if each.dim() >= 2]
        norms = [each for each in model.parameters() if each.dim() < 2]
        groups = [{"params": matrices, "weight_decay": 0.01},
                  {"params": norms, "weight_decay": 0.0}]
        own = {"fused": True, "capturable": captured} if matrices[0].is_cuda else {}
        return torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.999), eps=1e-8, **own)


class MlpTraining:
    rate_name = "samples_per_s"
    name = "mlp"
    guess = 1.0  # targets are standard normal, and a model that knows nothing answers 0
    cost = {}
    engine_ending = ""

    def __init__(self, widths, batch):
        self.widths = widths
        self.batch = self.items = batch
        self.parameters = sum(a * b for a, b in zip(widths, widths[1:]))
        self.flop = {"tflops": 6 * self.parameters * batch}
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

    def make_optimizer(self, model, captured):
        own = {"fused": True} if next(model.parameters()).is_cuda else {}
        return torch.optim.SGD(model.parameters(), lr=1e-3, **own)


class GpuClock:
    def __init__(self, device):
        self.device = device

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def wait(self, mark):
        mark.synchronize()

    def seconds(self, begin, end):
        return 1e-3 * begin.elapsed_time(end)

    def reset_peak(self):
        torch.cuda.reset_peak_memory_stats(self.device)

    def peak_bytes(self):
        return torch.cuda.max_memory_allocated(self.device)

    def release(self):
        torch.cuda.empty_cache()


class CpuClock:
    """Calls on the CPU have ended when they return. Its memory is not counted."""

    def mark(self):
        return time.perf_counter()

    def wait(self, mark):
        pass

    def seconds(self, begin, end):
        return end - begin

    def reset_peak(self):
        pass

    def peak_bytes(self):
        return None

    def release(self):
        pass


def run_steps(step, clock, seconds):
    """At least LEAST_STEPS steps and `seconds`: the time of each, and the loss of the last."""
    begin = time.perf_counter()
    marks = [clock.mark()]
    while len(marks) <= LEAST_STEPS or time.perf_counter() - begin < seconds:
        loss = step()
        marks.append(clock.mark())
        if len(marks) > STEPS_AHEAD:
            clock.wait(marks[-1 - STEPS_AHEAD])
    clock.wait(marks[-1])
    return [clock.seconds(a, b) for a, b in zip(marks, marks[1:])], loss.item()


def make_step(training, recipe, mode, device):
    """A function that enqueues a step and returns its loss."""
    dtype = torch.bfloat16 if recipe == "bf16" else torch.float32
    with device if hasattr(device, "__enter__") else contextlib.nullcontext():  # PyTorch 2
        model = training.make_model().to(dtype)
    data = training.make_data(device, dtype)
    optimizer = training.make_optimizer(model, mode == "graph")
    loss_of = model if mode == "eager" else torch.compile(model, dynamic=False)

    def step():
        training.renew(data)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=recipe == "amp"):
            loss = loss_of(*data)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return captured(step, optimizer) if mode == "graph" else step


def captured(step, optimizer):
    """The step as one graph. Gradients are None before the capture, so that the graph owns them and
    its backward pass writes them."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(LEAST_STEPS):
            step()
    torch.cuda.current_stream().wait_stream(side)
    optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss

    return replay


@dataclasses.dataclass
class Timed:
    samples: list  # seconds of each step
    warm_ups: int
    loss: float
    peak_bytes: int


def measure(training, recipe, mode, options, clock):
    # Code that was compiled for another row would be compiled anew for shapes that vary.
    if mode != "eager":
        torch.compiler.reset()
    gc.collect()
    clock.release()
    clock.reset_peak()
    torch.manual_seed(1)
    step = make_step(training, recipe, mode, options.torch_device)
    compiling, _ = run_steps(step, clock, 0)
    warm_ups, _ = run_steps(step, clock, WARM_UP_SECONDS)
    samples, loss = run_steps(step, clock, options.seconds)
    return Timed(samples, len(compiling) + len(warm_ups), loss, clock.peak_bytes())


def rounded(value):
    return float(f"{value:.9g}")


def median_interval(samples):
    """A 95% interval of the median, by Student's t over the medians of ten batches of neighbours,
    which allows for correlation over less than a batch. Of few samples it is their range."""
    batches = 10
    if len(samples) < 2 * batches:
        return min(samples), max(samples)
    n = len(samples)
    medians = [statistics.median(samples[i * n // batches:(i + 1) * n // batches])
               for i in range(batches)]
    half = 2.262 * statistics.stdev(medians) / math.sqrt(batches)
    median = statistics.median(samples)
    return max(0.0, median - half), median + half


def seconds_record(samples):
    percentiles = statistics.quantiles(samples, n=100, method="inclusive")
    low, high = median_interval(samples)
    figures = {"median": statistics.median(samples), "mean": statistics.fmean(samples),
               "min": min(samples), "p5": percentiles[4], "p95": percentiles[94],
               "p99": percentiles[98], "ci_low": low, "ci_high": high}
    return {**{name: rounded(value) for name, value in figures.items()},
            "n": len(samples), "stopped_by": "time"}


def measured_record(training, timed):
    seconds = statistics.median(timed.samples)
    rates = {training.rate_name: training.items / seconds}
    rates.update({rate: flop / seconds / 1e12 for rate, flop in training.flop.items()})
    if timed.peak_bytes is not None:
        rates["memory_bytes"] = timed.peak_bytes
    cost = {"flop": float(training.flop["tflops"]), "memory_bytes": 0.0, "wire_bytes": 0.0}
    return {"outcome": "measured", "seconds": seconds_record(timed.samples), "mode": "steps",
            "warm_ups": timed.warm_ups, "flushed": False, "verified": True,
            "rates": {rate: rounded(value) for rate, value in rates.items()},
            "cost": {**cost, **training.cost},
            "notes": {**training.notes, "loss": f"{timed.loss:.6g}"},
            "warnings": [], "samples": [rounded(each) for each in timed.samples]}


def device_records(options):
    if options.torch_device.type == "cpu":
        return [{"name": "host:0", "kind": "host", "model": cpu_model(),
                 "compute_units": os.cpu_count()}]
    kind, records = gpu_kind(), []
    every = range(torch.cuda.device_count())
    for index in every if options.device == "cuda" else [options.torch_device.index]:
        properties = torch.cuda.get_device_properties(index)
        records.append({"name": f"{kind}:{index}", "kind": kind, "model": properties.name,
                        "compute_units": properties.multi_processor_count,
                        "memory_bytes": properties.total_memory})
    return records


def gpu_kind():
    return "hip" if torch.version.hip else "cuda"


def machine_name(options):
    """As Duet's --device names it: "cuda" is all GPUs, of which the first one runs."""
    if options.torch_device.type == "cpu":
        return "host"
    return options.device.replace("cuda", gpu_kind(), 1)


def cpu_model():
    path = pathlib.Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def library_versions():
    found = {"Python": platform.python_version(), "PyTorch": torch.__version__}
    if torch.cuda.is_available():
        found["HIP" if torch.version.hip else "CUDA"] = torch.version.hip or torch.version.cuda
        found["MIOpen" if torch.version.hip else "cuDNN"] = str(torch.backends.cudnn.version())
    try:
        import triton
        found["Triton"] = triton.__version__
    except ImportError:
        pass
    return found


def time_utc():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def environment_record(options):
    prefixes = ("CUDA_", "CUBLAS", "HIP_", "ROCR_", "HSA_", "OMP_", "TORCH", "PYTORCH_", "TRITON_")
    chosen = {name: text for name, text in os.environ.items() if name.startswith(prefixes)}
    machine = {"name": machine_name(options), "virtual_time": False,
               "devices": device_records(options), "links": []}
    host = {"name": platform.node(), "kernel": f"{platform.system()} {platform.release()}",
            "cpu": cpu_model(), "threads": os.cpu_count()}
    run = {"command": "python3 " + shlex.join(sys.argv), "time_utc": time_utc(), "host": host,
           "libraries": library_versions(), "variables": chosen}
    return {"type": "environment", "schema": 1, "machines": [machine], "run": run}


class Journal:
    """One write for each record; nothing without a path."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8") if path else None

    def write(self, record):
        if self.file is None:
            return
        self.file.write(json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n")
        self.file.flush()


def positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': expected a whole number, 1 or more")
    return int(text)


def positive_seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}': expected a number of seconds above 0")
    return value


def words(text):
    return list(dict.fromkeys(text.split(",")))


def widths(text):
    return tuple(positive(each) for each in text.split(","))


def parse_options():
    """What to train, the journal, and the options; ends the program if they are wrong."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("gpt", "mlp"), default="gpt")
    parser.add_argument("--model", type=words, metavar="LIST",
                        help="GPT models of specs/training/gpt.toml (default: small)")
    parser.add_argument("--recipe", type=words, metavar="LIST",
                        help="fp32, amp, bf16 (default: amp,bf16; of the MLP fp32,bf16)")
    parser.add_argument("--mode", type=words, metavar="LIST",
                        help="eager, compile, graph (default: all; on the CPU eager,compile)")
    parser.add_argument("--batch", type=positive, metavar="N",
                        help="sequences of a step; of the MLP samples")
    parser.add_argument("--sequence", type=positive, metavar="N", help="tokens of a sequence")
    parser.add_argument("--layers", type=positive, metavar="N", help="use the first N layers")
    parser.add_argument("--pad-vocabulary", type=positive, metavar="N",
                        help="pad the vocabulary to a multiple of N (default: not padded)")
    parser.add_argument("--widths", type=widths, metavar="LIST",
                        help="widths of the MLP, from its input to its output (default: "
                        "4096,8192,8192,4096, of the MI350X training study)")
    parser.add_argument("--seconds", type=positive_seconds, default=3.0, help="of each row (3)")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu (default: cuda)")
    parser.add_argument("--json", metavar="FILE", help="write a journal")
    options = parser.parse_args()
    check_kind(parser, options)
    check_lists(parser, options)
    rows = trainings(parser, options)
    options.torch_device = find_device(parser, options.device)
    return rows, open_journal(parser, options.json), options


def check_kind(parser, options):
    others = {"gpt": ("widths",), "mlp": ("model", "sequence", "layers", "pad_vocabulary")}
    for name in others[options.kind]:
        if getattr(options, name) is not None:
            parser.error(f"--{name.replace('_', '-')} has no meaning with --kind {options.kind}")
    if options.widths is not None and len(options.widths) < 2:
        parser.error("--widths: expected two or more, of the input and of each linear's output")


def find_device(parser, text):
    kind, _, index = text.partition(":")
    if text == "cpu":
        return torch.device("cpu")
    if kind != "cuda" or (text != "cuda" and not index.isdecimal()):
        parser.error(f"--device: '{text}': expected cuda, cuda:N or cpu")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(index or 0) >= count:
        parser.error(f"--device: '{text}': PyTorch {torch.__version__} sees {count} GPUs")
    return torch.device("cuda", int(index or 0))


def check_lists(parser, options):
    on_cpu = options.device == "cpu"
    options.recipe = options.recipe or ["amp" if options.kind == "gpt" else "fp32", "bf16"]
    options.mode = options.mode or [each for each in MODES if each != "graph" or not on_cpu]
    for flag, chosen, known in (("recipe", options.recipe, RECIPES), ("mode", options.mode, MODES)):
        for each in chosen:
            if each not in known:
                parser.error(f"--{flag}: '{each}': expected one of {', '.join(known)}")
    if on_cpu and "graph" in options.mode:
        parser.error("--mode: graph needs a GPU: expected eager or compile")


def read_models():
    with open(MODELS, "rb") as file:
        return {table["name"]: GptConfig(**table) for table in tomllib.load(file)["model"]}


def trainings(parser, options):
    if options.kind == "mlp":
        return [MlpTraining(options.widths or MLP_WIDTHS, options.batch or MLP_BATCH)]
    known = read_models()
    found = []
    for name in options.model or ["small"]:
        if name not in known:
            parser.error(f"--model: '{name}': expected one of {', '.join(known)}")
        config = known[name]
        if options.layers is not None and options.layers > config.layers:
            parser.error(f"--layers: {options.layers}: {name} has {config.layers}")
        changes = {key: getattr(options, key) for key in ("batch", "sequence", "layers")
                   if getattr(options, key) is not None}
        config = dataclasses.replace(config, **changes)
        found.append(GptTraining(config, options.pad_vocabulary or 1))
    return found


def open_journal(parser, path):
    try:
        if path and os.path.isfile(path) and os.path.getsize(path) > 0:
            parser.error(f"--json: {path} has contents: give another name")
        return Journal(path)
    except OSError as error:
        parser.error(f"--json: {path}: {error.strerror}")


def print_heading(options):
    device = device_records(options)[0]["model"]
    versions = ", ".join(f"{name} {version}" for name, version in library_versions().items())
    rate = "samples/s" if options.kind == "mlp" else "tokens/s"
    print(f"{device}, {versions}, {options.seconds:g} s a row")
    print(f"{'model':>8} {'recipe':>6} {'mode':>8} {'batch':>6} {'median ms':>10} {'mean ms':>10} "
          f"{rate:>11} {'TFLOP/s':>8} {'peak GB':>8} {'loss':>7}", flush=True)


def print_row(training, recipe, mode, timed):
    median = statistics.median(timed.samples)
    peak = "-" if timed.peak_bytes is None else f"{timed.peak_bytes / 1e9:.2f}"
    print(f"{training.name:>8} {recipe:>6} {mode:>8} {training.batch:>6} {1e3 * median:10.3f} "
          f"{1e3 * statistics.fmean(timed.samples):10.3f} {training.items / median:11.0f} "
          f"{training.flop['tflops'] / median / 1e12:8.1f} {peak:>8} {timed.loss:7.3f}", flush=True)


def first_line(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def run_row(training, recipe, mode, options, clock):
    """Prints the row if it was measured. Returns its outcome, as a record has it."""
    try:
        timed = measure(training, recipe, mode, options, clock)
    except Exception as error:  # out of memory, or what PyTorch cannot compile or capture
        return {"outcome": "failed", "failed": {"reason": first_line(error)}}
    if abs(timed.loss - training.guess) <= 1:  # false for NaN
        print_row(training, recipe, mode, timed)
        return measured_record(training, timed)
    reason = f"the loss is {timed.loss:g}, expected {training.guess:.2f} +- 1"
    return {"outcome": "wrong", "failed": {"reason": reason}}


def main():
    rows, journal, options = parse_options()
    on_gpu = options.torch_device.type == "cuda"
    if on_gpu:
        torch.cuda.set_device(options.torch_device)
    torch.set_float32_matmul_precision("highest")
    clock = GpuClock(options.torch_device) if on_gpu else CpuClock()
    journal.write(environment_record(options))
    print_heading(options)
    failed = False
    for training, recipe, mode in itertools.product(rows, options.recipe, options.mode):
        result = run_row(training, recipe, mode, options, clock)
        if "failed" in result:
            failed = True
            print(f"{training.name:>8} {recipe:>6} {mode:>8} {result['outcome']}: "
                  f"{result['failed']['reason']}", flush=True)
        journal.write({"type": "result", "schema": 1, "benchmark": "train",
                       "device": machine_name(options),
                       "engine": f"torch-{mode}{training.engine_ending}",
                       "case": training.axes(recipe), **result})
    journal.write({"type": "end", "schema": 1, "time_utc": time_utc()})
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
