#!/usr/bin/env python3
"""duet gemm beside torch.matmul on one GPU, in turns within the same minutes.

First duet tunes every shape, into its cache. Then each round runs the studies' shapes in a `duet gemm`
process and in this one, in turns that change places: cold (30 ms warm-up, 200 ms, cache flushed:
do_bench) or sustained (seconds of calls, power-capped). Prints a row a shape: medians over the
rounds, and the ratio; last the geometric mean.
"""
import argparse
import collections
import json
import math
import statistics
import subprocess
import sys
import time

import torch
import triton

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def torch_cold(a, b, c):
    run = lambda: torch.matmul(a, b, out=c)
    return triton.testing.do_bench(run, warmup=30, rep=200, return_mode="median") * 1e-3


def torch_sustained(a, b, c, seconds):
    """Median over windows of 50 ms, each the mean of its calls; the first quarter warms up."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    samples, calls, begin = [], 8, time.time()
    while time.time() - begin < seconds:
        start.record()
        for _ in range(calls):
            torch.matmul(a, b, out=c)
        end.record()
        end.synchronize()
        samples.append(start.elapsed_time(end) * 1e-3 / calls)
        calls = max(1, int(0.05 / samples[-1]))
    return statistics.median(samples[len(samples) // 4:])


def torch_round(shapes, dtype, mode, seconds):
    results = {}
    for m, n, k in shapes:
        a = torch.randn(m, k, device="cuda", dtype=DTYPES[dtype])
        b = torch.randn(k, n, device="cuda", dtype=DTYPES[dtype])
        c = torch.empty(m, n, device="cuda", dtype=DTYPES[dtype])
        timed = torch_cold(a, b, c) if mode == "cold" else torch_sustained(a, b, c, seconds)
        results[m, n, k] = timed
        del a, b, c
    torch.cuda.empty_cache()
    return results


def duet_command(options, dtype, engines):
    return [options.duet, "gemm", "--device", "cuda:0", "--set", "seed,llama", "--dtype", dtype,
            "--layout", "nn", "--engine", engines, "--tuning-cache", options.cache, "--quiet"]


def tune(options):
    begin = time.time()
    for dtype in options.dtypes.split(","):
        for mode in options.modes.split(","):
            flush = ["--flush"] if mode == "cold" else []
            subprocess.run(duet_command(options, dtype, "cublaslt-tuned") + flush +
                           ["--seconds", "0.01", "--tuning-seconds", str(options.tuning_seconds)],
                           check=True)
    print(f"tuned in {time.time() - begin:.0f} s", flush=True)


def duet_round(options, dtype, mode, journal):
    engines = options.engines if mode == "cold" else "cublaslt-tuned"
    command = duet_command(options, dtype, engines) + ["--json", journal]
    if mode == "cold":
        command += ["--mode", "do_bench"]
    else:
        command += ["--mode", "sustained", "--seconds", str(options.seconds),
                    "--warm-up", str(options.seconds / 3)]
    subprocess.run(command, check=True)
    results = collections.defaultdict(dict)
    with open(journal) as lines:
        for record in map(json.loads, lines):
            if "seconds" in record:
                case = record["case"]
                results[case["m"], case["n"], case["k"]][record["engine"]] = record["seconds"]["median"]
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duet", default="build/duet")
    parser.add_argument("--out", default=".", help="folder for the journals")
    parser.add_argument("--cache", help="tuning cache of duet; default tuning.json in that folder")
    parser.add_argument("--tuning-seconds", type=float, default=6)
    parser.add_argument("--engines", default="cublaslt-tuned,cublas")
    parser.add_argument("--dtypes", default="bf16,fp16")
    parser.add_argument("--modes", default="cold,sustained")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    options.cache = options.cache or f"{options.out}/tuning.json"
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, "
          f"cuBLAS {torch.backends.cuda.preferred_blas_library()}", flush=True)
    tune(options)
    for mode in options.modes.split(","):
        for dtype in options.dtypes.split(","):
            compare(options, mode, dtype)


def compare(options, mode, dtype):
    ours, theirs = (collections.defaultdict(lambda: collections.defaultdict(list)) for _ in range(2))
    def ours_next(number):
        journal = f"{options.out}/gemm-{dtype}-{mode}-{number}.jsonl"
        for shape, engines in duet_round(options, dtype, mode, journal).items():
            for engine, seconds in engines.items():
                ours[shape][engine].append(seconds)

    def theirs_next():
        for shape, seconds in torch_round(list(ours), dtype, mode, options.seconds).items():
            theirs[shape]["torch"].append(seconds)

    for number in range(options.rounds):
        turns = [lambda: ours_next(number), theirs_next]
        for turn in turns if number % 2 == 0 else reversed(turns):
            turn()
    engines = list(next(iter(ours.values())))
    print(f"\n{dtype} {mode}, TFLOP/s, median of {options.rounds} rounds")
    print(f"{'M x N x K':>22} {'torch':>8} " + " ".join(f"{e:>16} {'ratio':>6}" for e in engines))
    ratios = collections.defaultdict(list)
    for (m, n, k), by_engine in ours.items():
        flop = 2 * m * n * k / 1e12
        torch_seconds = statistics.median(theirs[m, n, k]["torch"])
        row = f"{f'{m} x {n} x {k}':>22} {flop / torch_seconds:8.1f} "
        for engine in engines:
            seconds = statistics.median(by_engine[engine])
            ratios[engine].append(torch_seconds / seconds)
            row += f"{flop / seconds:16.1f} {ratios[engine][-1]:6.3f} "
        print(row)
    for engine in engines:
        mean = math.exp(statistics.fmean(map(math.log, ratios[engine])))
        print(f"{engine}: geometric mean {mean:.4f}, worst {min(ratios[engine]):.4f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
