#!/usr/bin/env python3
"""Operations of tensor-parallel layers by PyTorch, in the journal's form of `duet layer`.

  torchrun --nproc-per-node 2 bench/layers.py --json layers.jsonl
  duet layer --device cuda --json duet.jsonl; python3 bench/layers.py --table duet.jsonl layers.jsonl

Y = X W^T in bf16, as `duet layer` divides it: gather-gemm gathers the rows of X, gemm-scatter sums Y over
ranks and leaves each its rows. Engines:
- torch-none: the multiplication alone;
- torch-nccl: all_gather_into_tensor before it, or reduce_scatter_tensor behind it;
- torch-fused: fused_all_gather_matmul and fused_matmul_reduce_scatter of symmetric memory;
each as Python calls it (eager) and as a CUDA graph. All are measured by turns: a sample is the mean of a
group of calls on the slowest rank. Results of torch-fused must be those of torch-nccl within bf16's rounding.
"""
import argparse
import json
import os
import statistics
import sys
import time

MODELS = {"llama70b": (8192, 10240, 8192, 28672), "llama405b": (16384, 18432, 16384, 53248),
          "qwen3-8b": (4096, 6144, 4096, 12288), "qwen3-32b": (5120, 10240, 8192, 25600)}
GROUP_SECONDS = 0.02
MOST_CALLS = 16
TOLERANCE = 0.02  # of the largest value


def operations(models, tokens):
    """(operation, part, M, N, K) as duet layer names them."""
    for model in models:
        width, qkv, attended, ffn = MODELS[model]
        for m in tokens:
            yield "gather-gemm", f"{model} qkv", m, qkv, width
            yield "gather-gemm", f"{model} gate+up", m, 2 * ffn, width
        for m in tokens:
            yield "gemm-scatter", f"{model} o", m, width, attended
            yield "gemm-scatter", f"{model} down", m, width, ffn


class Operation:
    """The tensors of one rank, and its ways."""

    def __init__(self, torch, dist, name, m, n, k):
        self.torch, self.dist, self.ranks = torch, dist, dist.get_world_size()
        gathers = name == "gather-gemm"
        n, k = (n // self.ranks, k) if gathers else (n, k // self.ranks)
        make = lambda *shape: torch.randn(*shape, device="cuda").to(torch.bfloat16)
        self.weight = make(n, k)
        self.x = make(m, k)
        self.own = self.x[:m // self.ranks].clone() if gathers else None
        self.gathered = torch.empty_like(self.x)
        self.y = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        self.scattered = torch.empty(m // self.ranks, n, device="cuda", dtype=torch.bfloat16)
        self.group = dist.group.WORLD.group_name
        self.ways = {"torch-none": self.alone,
                     "torch-nccl": self.gather_first if gathers else self.scatter_last,
                     "torch-fused": self.fused_gather if gathers else self.fused_scatter}

    def alone(self):
        self.torch.mm(self.x, self.weight.t(), out=self.y)
        return self.y

    def gather_first(self):
        self.dist.all_gather_into_tensor(self.gathered, self.own)
        self.torch.mm(self.gathered, self.weight.t(), out=self.y)
        return self.y

    def scatter_last(self):
        self.torch.mm(self.x, self.weight.t(), out=self.y)
        self.dist.reduce_scatter_tensor(self.scattered, self.y)
        return self.scattered

    def fused_gather(self):
        return self.torch.ops.symm_mem.fused_all_gather_matmul(
            self.own, [self.weight.t()], gather_dim=0, group_name=self.group)[1][0]

    def fused_scatter(self):
        return self.torch.ops.symm_mem.fused_matmul_reduce_scatter(
            self.x, self.weight.t(), "sum", scatter_dim=0, group_name=self.group)

    def check(self):
        expected, got = self.ways["torch-nccl"]().float(), self.ways["torch-fused"]().float()
        wrong = (expected - got).abs().max() > TOLERANCE * expected.abs().max()
        if wrong:
            raise SystemExit("torch-fused: wrong result")


def captured(torch, call):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def own_seconds(torch, call, calls, device):
    """Of so many calls on this rank."""
    if device == "cpu":
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        return time.perf_counter() - begin
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(calls):
        call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3


def group_seconds(torch, dist, call, calls, device="cuda"):
    """The mean time of a call on the slowest rank, all beginning together."""
    dist.barrier()
    seconds = own_seconds(torch, call, calls, device) / calls
    slowest = torch.tensor([seconds], device=device, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item()


def by_turns(torch, dist, ways, seconds, device="cuda"):
    """Samples by name."""
    samples = {name: [] for name in ways}
    groups = {}
    for name, call in ways.items():
        for _ in range(3):
            group_seconds(torch, dist, call, 2, device)
        one = group_seconds(torch, dist, call, 2, device)
        groups[name] = max(1, min(MOST_CALLS, int(GROUP_SECONDS / one)))
    spent = 0.0
    while spent < seconds * len(ways) or len(samples["torch-none"]) < 9:
        for name, call in ways.items():
            samples[name].append(group_seconds(torch, dist, call, groups[name], device))
            spent += samples[name][-1] * groups[name]
    return samples


def record_of(place, engine, case, samples, alone, flop=None):
    seconds = statistics.median(samples)
    added = {} if engine == "torch-none" else {
        "added_percent": 100 * (seconds / alone - 1), "gemm_seconds": alone,
        "added_seconds": seconds - alone}
    flop = flop or 2.0 * case["m"] * case["n"] * case["k"]
    return result(place, "layer", engine, case, samples, {"tflops": flop / seconds / 1e12}, {"flop": flop}, added)


def result(place, benchmark, engine, case, samples, rates, cost, metrics):
    """A record of what was measured by turns."""
    from torch_training.journal import rounded, seconds_record
    values = lambda figures: {name: rounded(value) for name, value in figures.items()}
    return {"type": "result", "schema": 1, "benchmark": benchmark, "device": place.name,
            "engine": engine, "case": case, "outcome": "measured",
            "seconds": seconds_record(samples), "mode": "turns", "warm_ups": 8, "flushed": False,
            "verified": True, "rates": values(rates),
            "cost": {"flop": 0.0, "memory_bytes": 0.0, "wire_bytes": 0.0, **cost},
            "metrics": values(metrics), "notes": {},
            "warnings": [], "samples": [rounded(each) for each in samples]}


def measure(arguments):
    import torch
    import torch.distributed as dist
    from torch.distributed._symmetric_memory import enable_symm_mem_for_group
    from torch_training.journal import Journal, Place, environment_record
    rank, device = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    torch.manual_seed(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", device))
    enable_symm_mem_for_group(dist.group.WORLD.group_name)
    place = Place("cuda", torch.device("cuda", 0), dist.get_world_size())
    journal = Journal(arguments.json if rank == 0 else None)
    journal.write(environment_record(place))
    for name, part, m, n, k in operations(arguments.model.split(","),
                                          [int(each) for each in arguments.tokens.split(",")]):
        operation = Operation(torch, dist, name, m, n, k)
        operation.check()
        case = {"layer": name, "part": part, "m": m, "n": n, "k": k, "dtype": "bf16",
                "ranks": dist.get_world_size()}
        ways = dict(operation.ways)
        ways.update({f"{engine} captured": captured(torch, call)
                     for engine, call in operation.ways.items()})
        samples = by_turns(torch, dist, ways, arguments.seconds)
        for way, each in samples.items():
            engine, _, graph = way.partition(" ")
            alone = statistics.median(samples[f"torch-none {graph}".strip()])
            full = {**case, "graph_launches": 1} if graph else case
            journal.write(record_of(place, engine, full, each, alone))
        if rank == 0:
            print(f"{name} {part} {m}: " + ", ".join(
                f"{way} {statistics.median(each) * 1e6:.1f} us" for way, each in samples.items()),
                flush=True)
        del operation, ways
        torch.cuda.empty_cache()
    dist.destroy_process_group()


def engine_of(record):
    case = record["case"]
    ways = f" {case['ranges']} {case['sums']} {case.get('streams', 1)}" if "ranges" in case else ""
    return record["engine"] + ways + (" captured" if "graph_launches" in case else "")


def table(paths):
    """Of each operation the time alone, and what each engine adds to it, in per cent."""
    rows, engines = {}, []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for record in map(json.loads, file):
                if record.get("benchmark") != "layer" or record.get("outcome") != "measured":
                    continue
                case, engine = record["case"], engine_of(record)
                if "added_percent" not in record.get("metrics", {}):
                    continue
                whole = f" {case['layer']}" if case["layer"] in ("mlp", "attention") else ""
                key = (case["part"] + whole, case["m"])
                rows.setdefault(key, {})[engine] = record["metrics"]
                if engine not in engines:
                    engines.append(engine)
    print("| operation | rows | alone us | " + " | ".join(engines) + " |")
    print("|" + "---|" * (3 + len(engines)))
    for (part, m), cells in rows.items():
        alone = statistics.median(each["gemm_seconds"] for each in cells.values()) * 1e6
        texts = [f"{cells[engine]['added_percent']:+.1f}" if engine in cells else "" for engine in engines]
        print(f"| {part} | {m} | {alone:.1f} | " + " | ".join(texts) + " |")


def command(text, measure_all, print_table, model, tokens, tokens_text):
    """The command line of this program and its like: `text` is its help."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default=model, help="models, separated by commas")
    parser.add_argument("--tokens", default=tokens, help=tokens_text)
    parser.add_argument("--seconds", type=float, default=0.3, help="of measuring each way")
    parser.add_argument("--json", help="journal to append to")
    parser.add_argument("--table", nargs="+", metavar="JOURNAL", help="instead, print journals as a table")
    arguments = parser.parse_args()
    if arguments.table:
        return print_table(arguments.table)
    if "RANK" not in os.environ:
        sys.exit("expected to be started by torchrun")
    return measure_all(arguments)


if __name__ == "__main__":
    command(__doc__, measure, table, "llama70b", "512,2048,4096,8192", "rows of all ranks together")
