"""Journals in the form of docs/results.md."""
import json
import math
import os
import pathlib
import platform
import shlex
import statistics
import sys
import time

import torch


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


def measured_record(row, timed):
    """Rates and cost are of all ranks, the memory that of one."""
    training, batches = row.training, row.batches()
    seconds = statistics.median(timed.samples)
    rates = {training.rate_name: batches * training.items / seconds}
    rates.update({rate: batches * flop / seconds / 1e12 for rate, flop in training.flop.items()})
    if timed.peak_bytes is not None:
        rates["memory_bytes"] = timed.peak_bytes
    cost = {"flop": float(training.flop["tflops"]), "memory_bytes": 0.0, "wire_bytes": 0.0,
            **training.cost}
    notes = {**training.notes, "loss": f"{timed.loss:.6g}",
             "early_loss": f"{timed.early_loss:.9g}"}
    if row.parallel == "ddp":
        notes["bucket_mb"] = str(row.bucket_mb)
    return {"outcome": "measured", "seconds": seconds_record(timed.samples), "mode": "steps",
            "warm_ups": timed.warm_ups, "flushed": False, "verified": True,
            "rates": {rate: rounded(value) for rate, value in rates.items()},
            "cost": {name: batches * value for name, value in cost.items()},
            "notes": notes, "warnings": [],
            "samples": [rounded(each) for each in timed.samples]}


def result_record(row, device, outcome):
    """outcome: a measured_record(), or what failed."""
    return {"type": "result", "schema": 1, "benchmark": "train", "device": device,
            "engine": row.engine(), "case": row.axes(), **outcome}


class Place:
    """The devices of all rows: `ranks` from the first one, or, of one rank, all of "cuda"."""

    def __init__(self, text, device, ranks):
        """text: of --device; device: the first one."""
        self.kind = "host" if device.type == "cpu" else gpu_kind()
        if self.kind == "host":
            self.indices = range(ranks)
            self.name = f"host:{ranks}" if ranks > 1 else "host"
            return
        last = device.index + ranks
        every = range(torch.cuda.device_count())
        whole = text == "cuda" and (ranks == 1 or last == len(every))
        self.indices = every if whole else range(device.index, last)
        listed = ",".join(map(str, self.indices))
        self.name = self.kind if whole else f"{self.kind}:{listed}"

    def devices(self):
        return [self.device(index) for index in self.indices]

    def device(self, index):
        name = f"{self.kind}:{index}"
        if self.kind == "host":
            return {"name": name, "kind": "host", "model": cpu_model(),
                    "compute_units": max(1, os.cpu_count() // len(self.indices))}
        properties = torch.cuda.get_device_properties(index)
        return {"name": name, "kind": self.kind, "model": properties.name,
                "compute_units": properties.multi_processor_count,
                "memory_bytes": properties.total_memory}


def gpu_kind():
    return "hip" if torch.version.hip else "cuda"


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
        found["NCCL"] = ".".join(map(str, torch.cuda.nccl.version()))
    try:
        import triton
        found["Triton"] = triton.__version__
    except ImportError:
        pass
    return found


def time_utc():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def environment_record(place):
    prefixes = ("CUDA_", "CUBLAS", "HIP_", "ROCR_", "HSA_", "OMP_", "NCCL_", "TORCH", "PYTORCH_",
                "TRITON_")
    chosen = {name: text for name, text in os.environ.items() if name.startswith(prefixes)}
    machine = {"name": place.name, "virtual_time": False, "devices": place.devices(), "links": []}
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
