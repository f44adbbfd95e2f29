#!/usr/bin/env python3
"""PyTorch's training step of the models that `duet train` measures, on GPUs or on the CPU.

  python3 bench/train_torch.py --model small,medium --recipe amp,bf16 --mode eager,compile,graph
  python3 bench/train_torch.py --kind mlp --recipe fp32,bf16 --mode graph --json mlp.jsonl
  python3 bench/train_torch.py --kind qwen3 --recipe bf16 --mode compile --attention cudnn
  python3 bench/train_torch.py --kind qwen3 --recipe bf16 --mode compile --lora 16
  python3 bench/train_torch.py --model 7b --recipe bf16 --parallel ddp
  python3 bench/train_torch.py --kind qwen3 --recipe bf16 --parallel fsdp2 --recompute block
  python3 bench/train_torch.py --kind qwen3 --recipe bf16 --parallel tp --async-tp

Each model, recipe and mode is a row. A step makes new random tokens on the device, then runs the
forward pass, the backward pass and the optimiser. GPT and Qwen3 models are those of
specs/training/gpt.toml and qwen3.toml, trained by a fused AdamW; the MLP is trained by a fused SGD.

Recipes: fp32 (without TF32); amp (fp32 parameters, autocast to bf16; with fsdp2 what is gathered is
bf16); bf16 (all in bf16).
Modes: eager; compile (torch.compile of model and loss); compile-blocks (of each block, and of the
loss); graph and graph-blocks (compile or compile-blocks, and the whole step captured as one CUDA
graph).

--parallel: each rank is a process of its own, new ones for each row. ddp is
DistributedDataParallel, fsdp2 is fully_shard() of each block and of the root, which records name
zero3 as Duet does. With tp ranks share one batch: DTensor's ColwiseParallel, RowwiseParallel and
SequenceParallel divide each product; --async-tp lets torch.compile run products beside what they
gather and scatter, by symmetric memory. A step's time is that of the slowest rank, tokens/s are those of all, memory is
that of the rank with most. A rank that fails ends the row, and the next row goes on.

A row is timed by events between steps that are enqueued back to back. It fails if the loss of the
last step is not within 1 of that of a guess. With --json the rows become a journal that `duet
compare` and `duet report` read. Exits with 1 if a row failed.
"""
import itertools
import os
import statistics
import sys

import torch

from torch_training.journal import (Place, environment_record, library_versions, measured_record,
                                    result_record, time_utc)
from torch_training.options import parse_options
from torch_training.parallel import Alone
from torch_training.ranks import RowFailed, first_line, run_by_ranks
from torch_training.row import Row
from torch_training.timing import measure


def print_heading(place, options):
    device = place.devices()[0]["model"]
    count = f"{options.ranks} x " if options.ranks > 1 else ""
    versions = ", ".join(f"{name} {version}" for name, version in library_versions().items())
    rate = "samples/s" if options.kind == "mlp" else "tokens/s"
    print(f"{count}{device}, {versions}, {options.seconds:g} s a row")
    print(f"{'model':>15} {'recipe':>6} {'mode':>20} {'batch':>6} {'median ms':>10} "
          f"{'mean ms':>10} {rate:>11} {'TFLOP/s':>8} {'peak GB':>8} {'loss':>7}", flush=True)


def heading_of(row):
    parallel = "" if row.parallel == "none" else f"{row.parallel} "
    return f"{row.training.name:>15} {row.recipe:>6} {parallel + row.mode:>20}"


def print_row(row, timed):
    training = row.training
    median = statistics.median(timed.samples)
    peak = "-" if timed.peak_bytes is None else f"{timed.peak_bytes / 1e9:.2f}"
    print(f"{heading_of(row)} {training.batch:>6} {1e3 * median:10.3f} "
          f"{1e3 * statistics.fmean(timed.samples):10.3f} "
          f"{row.batches() * training.items / median:11.0f} "
          f"{row.batches() * training.flop['tflops'] / median / 1e12:8.1f} {peak:>8} "
          f"{timed.loss:7.3f}", flush=True)


def run_row(row, device):
    """Prints the row if it was measured. Returns its outcome, as a record has it."""
    try:
        alone = row.parallel == "none"
        timed = measure(row, device, Alone()) if alone else run_by_ranks(row, measure)
    except RowFailed as error:
        return {"outcome": "failed", "failed": {"reason": str(error)}}
    except Exception as error:  # out of memory, or what PyTorch cannot compile or capture
        return {"outcome": "failed", "failed": {"reason": first_line(error)}}
    guess = row.training.guess
    if abs(timed.loss - guess) <= 1:  # false for NaN
        print_row(row, timed)
        return measured_record(row, timed)
    reason = f"the loss is {timed.loss:g}, expected {guess:.2f} +- 1"
    return {"outcome": "wrong", "failed": {"reason": reason}}


def rows_of(trainings, options):
    device = options.torch_device
    for training, recipe, mode in itertools.product(trainings, options.recipe, options.mode):
        yield Row(training, recipe, mode, device.type, device.index or 0, options.seconds,
                  options.attention, options.parallel or "none", options.ranks,
                  options.bucket_mb or 0, not options.no_communication, options.keep_gathered,
                  options.deterministic, options.async_tp, options.limit)


def main():
    if int(os.environ.get("RANK", "0")) > 0:  # of torchrun: rank 0 starts processes of its own
        return 0
    trainings, journal, options = parse_options(__doc__)
    device = options.torch_device
    if device.type == "cuda" and options.parallel is None:
        torch.cuda.set_device(device)
    torch.set_float32_matmul_precision("highest")
    place = Place(options.device, device, options.ranks)
    journal.write(environment_record(place))
    print_heading(place, options)
    failed = False
    for row in rows_of(trainings, options):
        outcome = run_row(row, device)
        if "failed" in outcome:
            failed = True
            print(f"{heading_of(row)} {outcome['outcome']}: {outcome['failed']['reason']}",
                  flush=True)
        journal.write(result_record(row, place.name, outcome))
    journal.write({"type": "end", "schema": 1, "time_utc": time_utc()})
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
