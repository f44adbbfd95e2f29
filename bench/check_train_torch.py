#!/usr/bin/env python3
"""Checks what bench/train_torch.py trains, on the CPU or, with two GPUs or more, on these.

  python3 bench/check_train_torch.py

- Qwen3 and its adapters have the loss, gradients and AdamW steps of the transformers and peft
  libraries (src/training/fixtures/qwen3.json).
- Two ranks train as one with the batches of both: the same tokens, losses that differ by rounding.
  With FSDP2 on GPUs. By tensor parallelism two ranks train as one with the same batch.
- A rank that fails, dies or hangs ends the row with its reason, and no process is left.

Exits with 1 if a check failed.
"""
import dataclasses
import json
import os
import pathlib
import sys
import time
import types

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "src/training/fixtures"
sys.path.append(str(FIXTURES))
from make import (LEARNING_RATE, WEIGHT_DECAY, random_weights, tokens_and_targets,  # noqa: E402
                  weights)
from torch_training.attention import VERSION  # noqa: E402
from torch_training.options import read_configs  # noqa: E402
from torch_training.parallel import Alone  # noqa: E402
from torch_training.qwen3 import Qwen3, Qwen3Config  # noqa: E402
from torch_training.ranks import RowFailed, run_by_ranks  # noqa: E402
from torch_training.row import Row  # noqa: E402
from torch_training.step import Step  # noqa: E402
from torch_training.training import TokenTraining  # noqa: E402

LOSS_TOLERANCE, GRADIENT_TOLERANCE = 1e-5, 1e-4  # as of src/training/fixture_test.cc
STEPS, SEQUENCES, CURVE_TOLERANCE = 12, 4, 1e-3
DUET_NAMES = {"token_table.weight": "token_table", "head.norm.weight": "norm.weight"}
LIMIT = 120.0
HAS_DTENSOR = VERSION >= (2, 5)
failures = []


def check(what, holds):
    print(f"{'ok' if holds else 'FAILED'}: {what}", flush=True)
    if not holds:
        failures.append(what)


def fixture_parameters(model, config):
    """The model's parameters, and its adapters, by Duet's names and in the fixture's order."""
    found = {DUET_NAMES.get(name, name): each for name, each in model.named_parameters()}
    adapters = {}
    for layer in range(config.layers if config.lora else 0):
        for linear, (_, parts) in config.linears().items():
            for part in parts:
                for letter in "ab":
                    one = found.pop(f"block.{layer}.{linear}.{part}_{letter}")
                    adapters[f"block.{layer}.{part}.lora_{letter}"] = one
    return found, adapters


def fill(found, adapters, order):
    """With the numbers of make_qwen3.py."""
    with torch.no_grad():
        for place, name in enumerate(order):
            found[name].copy_(weights(place, found[name].shape, 1 if found[name].dim() == 1 else 0))
        for index, each in enumerate(adapters.values()):
            each.copy_(random_weights(1000 + index, each.shape, 0))


def check_qwen3(fixture, rank, pieces, recompute):
    """With adapters of `rank`, or none."""
    sizes = {field.name: fixture["config"][field.name] for field in dataclasses.fields(Qwen3Config)
             if field.name in fixture["config"]}
    config = Qwen3Config(name="fixture", lora=rank, **sizes)
    model = Qwen3(config, pieces)
    for block in model.block:
        block.recompute = recompute
    found, adapters = fixture_parameters(model, config)
    fill(found, adapters, [each["name"] for each in fixture["gradients"]])
    expected = fixture["lora"] if rank else fixture
    trained = adapters if rank else found
    groups = [{"params": [each], "weight_decay": WEIGHT_DECAY if each.dim() == 2 else 0}
              for each in trained.values()]
    optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE)
    batch = tokens_and_targets(types.SimpleNamespace(**fixture["config"]))
    loss = model(*batch)
    loss.backward()
    worst = 0.0
    for gradient in expected["gradients"]:
        values = torch.tensor(gradient["values"])
        off = trained[gradient["name"]].grad.flatten() - values
        worst = max(worst, (off.norm() / values.norm()).item())
    losses = []
    for _ in expected["losses"]:
        optimizer.step()
        optimizer.zero_grad()
        after = model(*batch)
        after.backward()
        losses.append(after.item())
    steps = max(abs(a - b) for a, b in zip(losses, expected["losses"]))
    loss_off = abs(loss.item() - expected["loss"])
    check(f"qwen3, adapters of rank {rank}, head in {pieces}, recompute {recompute}: loss off by "
          f"{loss_off:.1e}, gradients {worst:.1e}, steps {steps:.1e}",
          loss_off < LOSS_TOLERANCE and worst < GRADIENT_TOLERANCE and steps < LOSS_TOLERANCE)


class SharedBatches(TokenTraining):
    """Each rank takes its share of the same sequences."""

    def __init__(self, config, ranks, recompute):
        super().__init__(dataclasses.replace(config, batch=SEQUENCES // ranks), recompute)
        self.ranks, self.rank, self.drawn = ranks, 0, 0

    def renew(self, data):
        for each in data:
            self.drawn += 1
            generator = torch.Generator().manual_seed(self.drawn)
            all_of_them = torch.randint(0, self.config.vocabulary,
                                        (SEQUENCES, self.config.sequence), generator=generator)
            each.copy_(all_of_them.chunk(self.ranks)[self.rank])


def losses_of(row, device, others):
    """Of each of STEPS steps, with a learning rate that they show."""
    row.training.rank = others.rank % row.training.ranks
    step = Step(row, device, others.rank)
    for group in step.optimizer.param_groups:
        group["lr"] = 1e-3
    return [others.mean(step().item()) for _ in range(STEPS)]


def small_configs():
    tiny = read_configs("qwen3")["tiny"]
    gpt = dataclasses.replace(read_configs("gpt")["small"], layers=2, sequence=32, vocabulary=256)
    return {"gpt": gpt, "qwen3": tiny, "qwen3 with adapters": dataclasses.replace(tiny, lora=4)}


def check_ranks(device_type, what, config, parallel, recompute="none", mode="eager"):
    def row(ranks, way):
        batches = 1 if way == "tp" else ranks
        return Row(SharedBatches(config, batches, recompute), "fp32", mode, device_type, 0, 1,
                   parallel=way, ranks=ranks, bucket_mb=1, limit=LIMIT)

    what = f"{what} by {parallel} {mode} on 2 x {device_type}, recompute {recompute}"
    one = losses_of(row(1, "none"), torch.device(device_type, 0), Alone())
    try:
        two = run_by_ranks(row(2, parallel), losses_of)
    except RowFailed as error:
        return check(f"{what}: {error}", False)
    off = max(abs(a - b) for a, b in zip(one, two))
    return check(f"{what}: losses {one[0]:.4f} to {one[-1]:.4f}, off by {off:.1e}",
                 off < CURVE_TOLERANCE)


def raises(row, device, others):
    if others.rank == 1:
        raise MemoryError("no room\nmore of it")
    others.barrier()


def dies(row, device, others):
    if others.rank == 1:
        os._exit(7)
    time.sleep(LIMIT)


def hangs(row, device, others):
    time.sleep(LIMIT)


def check_failure(work, limit, expected):
    row = Row(None, "fp32", "eager", "cpu", 0, 1, parallel="ddp", ranks=2, limit=limit)
    begin = time.monotonic()
    try:
        run_by_ranks(row, work)
        reason = "none failed"
    except RowFailed as error:
        reason = str(error)
    seconds = time.monotonic() - begin
    check(f"a rank that {work.__name__}: '{reason}'", reason == expected and seconds < LIMIT / 2)


def main():
    fixture = json.loads((FIXTURES / "qwen3.json").read_text())
    for rank in (0, fixture["lora"]["rank"]):
        for pieces, recompute in ((1, False), (8, True), (5, False)):
            check_qwen3(fixture, rank, pieces, recompute)
    check_failure(raises, LIMIT, "rank 1: MemoryError: no room")
    check_failure(dies, LIMIT, "rank 1 ended with exit code 7")
    check_failure(hangs, 8.0, "no result within 8 s")
    on_gpus = torch.cuda.is_available() and torch.cuda.device_count() > 1
    device_type = "cuda" if on_gpus else "cpu"
    for what, config in small_configs().items():
        check_ranks(device_type, what, config, "ddp")
        if HAS_DTENSOR and not getattr(config, "lora", 0):
            check_ranks(device_type, what, config, "tp")
            check_ranks(device_type, what, config, "tp", "block")
        if not on_gpus:
            check_ranks(device_type, what, config, "ddp", "block")
            continue
        check_ranks(device_type, what, config, "ddp", "block", "compile-blocks")
        if not getattr(config, "lora", 0):
            check_ranks(device_type, what, config, "fsdp2")
            check_ranks(device_type, what, config, "fsdp2", "block", "compile-blocks")
            check_ranks(device_type, what, config, "tp", "none", "compile-blocks")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
