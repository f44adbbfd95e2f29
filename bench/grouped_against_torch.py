#!/usr/bin/env python3
"""duet gemm --grouped beside torch._grouped_mm on one GPU, in turns within the same minutes.

Each round runs the experts' GEMMs of several models in a `duet gemm --grouped` process and in this one,
in turns that change places. Both have the same rows in each group, which Duet's journal tells, and take
the median of calls with the cache flushed before each (do_bench). Prints a row for each GEMM: TFLOP/s as
medians over the rounds, and the ratio of each of Duet's engines to torch._grouped_mm; last the geometric
means. OUT/grouped-duet-N.jsonl and OUT/grouped-torch-N.jsonl are the journals of round N.

  torch-grouped   torch._grouped_mm, with the ends of groups on the device
  torch-loop      torch.mm for each group that has rows, as Python calls it
"""
import argparse
import collections
import itertools
import json
import math
import os
import statistics
import subprocess
import sys

TOLERANCE = 0.02  # of the largest value
PEER = "torch-grouped"


class Groups:
    """The tensors of one case, and torch's ways. Weights are (groups, K, N) or, in layout nt, a view of
    (groups, N, K)."""

    def __init__(self, torch, case, rows):
        self.torch = torch
        make = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
        n, k, groups = case["n"], case["k"], len(rows)
        self.a = make(sum(rows), k)
        self.b = make(groups, n, k).transpose(1, 2) if case["layout"] == "nt" else make(groups, k, n)
        self.c = torch.empty(sum(rows), n, device="cuda", dtype=torch.bfloat16)
        ends = list(itertools.accumulate(rows))
        self.ends = torch.tensor(ends, device="cuda", dtype=torch.int32)
        self.parts = [(end - count, end, group)
                      for group, (count, end) in enumerate(zip(rows, ends)) if count > 0]

    def grouped(self):
        return self.torch._grouped_mm(self.a, self.b, offs=self.ends)

    def loop(self):
        for begin, end, group in self.parts:
            self.torch.mm(self.a[begin:end], self.b[group], out=self.c[begin:end])
        return self.c

    def ways(self):
        return {PEER: self.grouped, "torch-loop": self.loop}

    def check(self):
        expected, got = self.loop().float(), self.grouped().float()
        if (expected - got).abs().max() > TOLERANCE * expected.abs().max():
            sys.exit("torch._grouped_mm: wrong result")


def duet_command(options, journal):
    return [options.duet, "gemm", "--grouped", "--device", "cuda:0", "--dtype", "bf16", "--mode",
            "do_bench", "--seconds", str(options.seconds), "--layout", options.layout, "--model",
            options.models, "--ranks", options.ranks, "--rows-per-group", options.rows, "--routing",
            options.routing, "--engine", options.engines, "--quiet", "--json", journal]


def measured(journal):
    """The measured records of a journal, each with the text of its case."""
    with open(journal, encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if record.get("benchmark") == "gemm_grouped" and "seconds" in record:
                yield json.dumps(record["case"]), record
            elif record.get("outcome") in ("skipped", "failed", "wrong"):
                print(f"{record['engine']} {record['case']}: {record['outcome']}", file=sys.stderr)


def torch_record(place, engine, case, samples, rows):
    from torch_training.journal import rounded, seconds_record
    flop = 2.0 * sum(rows) * case["n"] * case["k"]
    mean = sum(rows) / len(rows)
    return {"type": "result", "schema": 1, "benchmark": "gemm_grouped", "device": place.name,
            "engine": engine, "case": case, "outcome": "measured",
            "seconds": seconds_record(samples), "mode": "do_bench", "warm_ups": 1, "flushed": True,
            "verified": True, "rates": {"tflops": rounded(flop / statistics.median(samples) / 1e12)},
            "metrics": {"rows_of_largest": float(max(rows)),
                        "rows_max_over_mean": rounded(max(rows) / mean)},
            "cost": {"flop": flop, "memory_bytes": 0.0, "wire_bytes": 0.0}, "notes": {},
            "warnings": [], "samples": [rounded(each) for each in samples]}


def torch_round(options, problems, journal_path):
    import torch
    import triton
    from torch_training.journal import Journal, Place, environment_record
    place = Place("cuda:0", torch.device("cuda", 0), 1)
    journal = Journal(journal_path)
    journal.write(environment_record(place))
    for text, rows in problems.items():
        groups = Groups(torch, json.loads(text), rows)
        groups.check()
        for engine, call in groups.ways().items():
            samples = triton.testing.do_bench(call, warmup=30, rep=1e3 * options.seconds,
                                              return_mode="all")
            journal.write(torch_record(place, engine, json.loads(text),
                                       [1e-3 * each for each in samples], rows))
        del groups
    journal.file.close()
    torch.cuda.empty_cache()


def run_rounds(options):
    """TFLOP/s by case and engine, of each round."""
    rates = collections.defaultdict(lambda: collections.defaultdict(list))
    problems = {}
    for number in range(options.rounds):
        def ours():
            journal = f"{options.out}/grouped-duet-{number}.jsonl"
            subprocess.run(duet_command(options, journal), check=True)
            for text, record in measured(journal):
                problems[text] = [int(each) for each in record["curves"]["rows_of_groups"]]
                rates[text][record["engine"]].append(record["rates"]["tflops"])

        def theirs():
            journal = f"{options.out}/grouped-torch-{number}.jsonl"
            torch_round(options, problems, journal)
            for text, record in measured(journal):
                rates[text][record["engine"]].append(record["rates"]["tflops"])

        turns = [ours, theirs]
        for turn in turns if number % 2 == 0 else reversed(turns):
            turn()
    return rates


def print_table(options, rates):
    engines = options.engines.split(",")
    compared = [engine for engine in engines if engine != "dense"]
    columns = engines + ["torch-loop", PEER]
    print(f"\nbf16 {options.layout}, do_bench, TFLOP/s, median of {options.rounds} rounds; "
          f"behind it the ratio to {PEER}")
    print(f"{'model':>12} {'part':>8} {'groups':>6} {'rows':>5} {'routing':>9} " +
          " ".join(f"{name:>17}" for name in columns))
    ratios = collections.defaultdict(list)
    for text, by_engine in rates.items():
        case = json.loads(text)
        peer = statistics.median(by_engine[PEER])
        cells = []
        for name in columns:
            if name not in by_engine:
                cells.append(f"{'-':>17}")
                continue
            rate = statistics.median(by_engine[name])
            if name != PEER:
                ratios[name].append(rate / peer)
            cells.append(f"{rate:10.1f} " + ("      " if name == PEER else f"{rate / peer:6.3f}"))
        print(f"{case['model']:>12} {case['part']:>8} {case['groups']:>6} {case['rows_per_group']:>5} "
              f"{case['routing']:>9} " + " ".join(cells))
    for name in compared + ["torch-loop"]:
        if ratios[name]:
            mean = math.exp(statistics.fmean(map(math.log, ratios[name])))
            print(f"{name}: geometric mean {mean:.3f} of {PEER}, worst {min(ratios[name]):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--duet", default="build/duet")
    parser.add_argument("--out", default=".", help="folder for the journals")
    parser.add_argument("--engines",
                        default="dense,loop-cublaslt,streams-cublaslt,cublas-grouped")
    parser.add_argument("--models", default="deepseek-v3,qwen3-30b,qwen3-235b,mixtral,gpt-oss")
    parser.add_argument("--ranks", default="8", help="over how many a model's experts are divided")
    parser.add_argument("--rows", default="32,128,512", help="of a group, the mean")
    parser.add_argument("--routing", default="uniform")
    parser.add_argument("--layout", default="nn", choices=["nn", "nt"])
    parser.add_argument("--seconds", type=float, default=0.1, help="of measuring a case")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    for number in range(options.rounds):
        for side in ("duet", "torch"):
            path = f"{options.out}/grouped-{side}-{number}.jsonl"
            if os.path.exists(path):
                sys.exit(f"{path} is there already: expected a folder without it")
    print_table(options, run_rounds(options))


if __name__ == "__main__":
    sys.exit(main())
