#!/usr/bin/env python3
"""Layers of a mixture of experts by PyTorch, in the journal's form of `duet moe`.

  torchrun --nproc-per-node 2 bench/moe.py --json moe-torch.jsonl
  duet moe --device cuda --json moe.jsonl; python3 bench/moe.py --table moe.jsonl moe-torch.jsonl

Tokens choose experts uniformly, without replacement. Engines:
- torch-none: the experts alone (torch._grouped_mm, SwiGLU, torch._grouped_mm), with their rows there;
- torch-all-to-all: choose, sort, counts exchanged and read by the host, all_to_all_single of a row for each
  expert, sort again, experts, and back: as frameworks do without a library of kernels;
- torch-all-gather: all_gather of rows and choices, the own experts' rows, experts, reduce_scatter of
  partial sums.
All are measured by turns: a sample is the mean of a group of calls on the slowest rank, and so are the
dispatch (all before the experts) and the combine (all behind them) by themselves. Some sums of each are
compared with a plain loop over experts.
"""
import json
import os
import statistics

import layers

MODELS = {"deepseek-v3": (7168, 2048, 256, 8), "qwen3-30b": (2048, 768, 128, 8),
          "qwen3-235b": (4096, 1536, 128, 8), "mixtral": (4096, 14336, 8, 2),
          "gpt-oss": (2880, 2880, 128, 4)}
TOLERANCE = 0.03  # of the largest value


class Layer:
    """One rank's tensors and ways. Experts are divided among ranks in order."""

    def __init__(self, torch, dist, model, tokens):
        self.torch, self.dist = torch, dist
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.hidden, self.width, self.experts, self.chosen = MODELS[model]
        self.own, self.tokens = self.experts // self.ranks, tokens
        make = lambda *shape: torch.randn(*shape, device="cuda").to(torch.bfloat16)
        self.x = make(tokens, self.hidden)
        self.logits = torch.rand(tokens, self.experts, device="cuda")
        scale = self.hidden ** -0.5
        self.up = make(self.own, self.hidden, 2 * self.width) * scale
        self.down = make(self.own, self.width, self.hidden) * self.width ** -0.5
        self.rows, self.ends, self.state = self.dispatch_all_to_all()
        self.product = self.multiply(self.rows, self.ends)
        self.all_state = self.dispatch_all_gather()
        self.all_product = self.multiply(*self.all_state[:2])

    def choose(self):
        values, experts = self.logits.topk(self.chosen, dim=1)
        return values.softmax(dim=1), experts

    def multiply(self, rows, ends):
        torch = self.torch
        gate, up = torch._grouped_mm(rows, self.up, offs=ends).chunk(2, dim=1)
        return torch._grouped_mm(torch.nn.functional.silu(gate) * up, self.down, offs=ends)

    def dispatch_all_to_all(self):
        torch = self.torch
        weights, experts = self.choose()
        flat = experts.flatten()
        order = flat.argsort(stable=True)
        counts = torch.bincount(flat, minlength=self.experts)
        theirs = torch.empty_like(counts)
        self.dist.all_to_all_single(theirs, counts)
        sent, received = (each.view(self.ranks, self.own) for each in (counts, theirs))
        sizes = torch.stack([sent.sum(1), received.sum(1)]).tolist()  # the host waits here
        rows = self.x[order // self.chosen]
        arrived = rows.new_empty(sum(sizes[1]), self.hidden)
        self.dist.all_to_all_single(arrived, rows, sizes[1], sizes[0])
        numbers = torch.arange(self.own, device="cuda").repeat(self.ranks)
        expert_of = numbers.repeat_interleave(received.flatten(), output_size=sum(sizes[1]))
        by_expert = expert_of.argsort(stable=True)
        ends = received.sum(0).cumsum(0).to(torch.int32)
        return arrived[by_expert], ends, (weights, order, by_expert, sizes)

    def combine_all_to_all(self, product):
        torch = self.torch
        weights, order, by_expert, sizes = self.state
        back = torch.empty_like(product)
        back[by_expert] = product
        returned = product.new_empty(order.numel(), self.hidden)
        self.dist.all_to_all_single(returned, back, sizes[0], sizes[1])
        flat = torch.empty_like(returned)
        flat[order] = returned
        by_token = flat.view(self.tokens, self.chosen, self.hidden)
        return torch.bmm(weights.to(flat.dtype).unsqueeze(1), by_token).squeeze(1)

    def dispatch_all_gather(self):
        torch = self.torch
        weights, experts = self.choose()
        everyone = self.x.new_empty(self.ranks * self.tokens, self.hidden)
        self.dist.all_gather_into_tensor(everyone, self.x)
        info = torch.cat([experts.to(torch.float32), weights], dim=1)
        infos = info.new_empty(self.ranks * self.tokens, 2 * self.chosen)
        self.dist.all_gather_into_tensor(infos, info)
        local = infos[:, :self.chosen].to(torch.int64) - self.rank * self.own
        flat = local.flatten()
        mine = ((flat >= 0) & (flat < self.own)).nonzero().flatten()  # the host waits here
        order = mine[flat[mine].argsort(stable=True)]
        ends = torch.bincount(flat[order], minlength=self.own).cumsum(0).to(torch.int32)
        token = order // self.chosen
        return everyone[token], ends, token, infos[:, self.chosen:].flatten()[order]

    def combine_all_gather(self, product):
        _, _, token, weights = self.all_state
        partial = product.new_zeros(self.ranks * self.tokens, self.hidden)
        partial.index_add_(0, token, product * weights.to(product.dtype).unsqueeze(1))
        result = self.torch.empty_like(self.x)
        self.dist.reduce_scatter_tensor(result, partial)
        return result

    def all_to_all(self):
        rows, ends, self.state = self.dispatch_all_to_all()
        return self.combine_all_to_all(self.multiply(rows, ends))

    def all_gather(self):
        self.all_state = self.dispatch_all_gather()
        return self.combine_all_gather(self.multiply(*self.all_state[:2]))

    def ways(self):
        return {"torch-none": lambda: self.multiply(self.rows, self.ends),
                "torch-all-to-all": self.all_to_all, "torch-all-gather": self.all_gather,
                "torch-all-to-all dispatch": self.dispatch_all_to_all,
                "torch-all-to-all combine": lambda: self.combine_all_to_all(self.product),
                "torch-all-gather dispatch": self.dispatch_all_gather,
                "torch-all-gather combine": lambda: self.combine_all_gather(self.all_product)}

    def check(self):
        """The first tokens' sums, of the experts of all ranks."""
        torch, count = self.torch, min(4, self.tokens)
        weights, experts = self.choose()
        everyone = [torch.empty_like(self.x[:count]) for _ in range(self.ranks)]
        self.dist.all_gather(everyone, self.x[:count].contiguous())
        chosen = [torch.empty_like(experts[:count]) for _ in range(self.ranks)]
        self.dist.all_gather(chosen, experts[:count].contiguous())
        shares = [torch.empty_like(weights[:count]) for _ in range(self.ranks)]
        self.dist.all_gather(shares, weights[:count].contiguous())
        sums = torch.zeros(self.ranks, count, self.hidden, device="cuda")
        for rank in range(self.ranks):
            for token in range(count):
                for expert, weight in zip(chosen[rank][token].tolist(), shares[rank][token].tolist()):
                    if expert // self.own != self.rank:
                        continue
                    gate, up = (everyone[rank][token] @ self.up[expert % self.own]).chunk(2)
                    made = (torch.nn.functional.silu(gate) * up) @ self.down[expert % self.own]
                    sums[rank, token] += weight * made.float()
        self.dist.all_reduce(sums)
        for name, call in (("all-to-all", self.all_to_all), ("all-gather", self.all_gather)):
            got, expected = call()[:count].float(), sums[self.rank]
            if (got - expected).abs().max() > TOLERANCE * expected.abs().max():
                raise SystemExit(f"torch-{name}: wrong result")


def record_of(place, engine, case, samples, parts):
    seconds, alone = statistics.median(samples), parts["alone"]
    tokens = case["ranks"] * case["tokens"]
    flop = 6.0 * tokens * case["top_k"] * case["width"] * case["hidden"]
    metrics = {} if engine == "torch-none" else {
        "added_percent": 100 * (seconds / alone - 1), "experts_alone_seconds": alone,
        "dispatch_seconds": parts["dispatch"], "combine_seconds": parts["combine"]}
    return layers.result(place, "moe", engine, case, samples,
                         {"tokens_per_s": tokens / seconds, "tflops": flop / seconds / 1e12},
                         {"flop": flop, "tokens": float(tokens)}, metrics)


def measure(arguments):
    import torch
    import torch.distributed as dist
    from torch_training.journal import Journal, Place, environment_record
    rank, device = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    torch.manual_seed(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", device))
    place = Place("cuda", torch.device("cuda", 0), dist.get_world_size())
    journal = Journal(arguments.json if rank == 0 else None)
    journal.write(environment_record(place))
    for model in arguments.model.split(","):
        hidden, width, experts, chosen = MODELS[model]
        for tokens in (int(each) for each in arguments.tokens.split(",")):
            layer = Layer(torch, dist, model, tokens)
            layer.check()
            case = {"model": model, "tokens": tokens, "hidden": hidden, "width": width,
                    "experts": experts, "top_k": chosen, "dtype": "bf16", "routing": "uniform",
                    "ranks": dist.get_world_size()}
            samples = layers.by_turns(torch, dist, layer.ways(), arguments.seconds)
            medians = {way: statistics.median(each) for way, each in samples.items()}
            for engine in ("torch-none", "torch-all-to-all", "torch-all-gather"):
                parts = {"alone": medians["torch-none"], "dispatch": medians.get(f"{engine} dispatch"),
                         "combine": medians.get(f"{engine} combine")}
                journal.write(record_of(place, engine, case, samples[engine], parts))
            if rank == 0:
                print(f"{model} {tokens}: " + ", ".join(
                    f"{way} {seconds * 1e6:.1f} us" for way, seconds in medians.items()), flush=True)
            del layer
            torch.cuda.empty_cache()
    dist.destroy_process_group()


# Phases of `duet moe` before and behind the experts.
BEFORE, BEHIND = ("route", "pack", "dispatch", "expand"), ("reduce", "combine", "sum")


def table(paths):
    """Of each layer the experts alone, and what each way takes before and behind them, in us."""
    rows, ways = {}, []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for record in map(json.loads, file):
                if record.get("benchmark") != "moe" or record.get("outcome") != "measured":
                    continue
                case, metrics = record["case"], record.get("metrics", {})
                if "experts_alone_seconds" not in metrics:
                    continue
                way = " ".join([record["engine"], case.get("exchange", ""),
                                "captured" if "graph_launches" in case else ""]).strip()
                spent = [sum(metrics.get(f"{phase}_seconds", 0) for phase in phases)
                         for phases in (BEFORE, BEHIND)]
                rows.setdefault((case["model"], case["tokens"]), {})[way] = (metrics, spent)
                if way not in ways:
                    ways.append(way)
    print("| model | tokens | experts us | way | before us | behind us | added |")
    print("|---|---|---|---|---|---|---|")
    for (model, tokens), cells in rows.items():
        for way in ways:
            if way not in cells:
                continue
            metrics, spent = cells[way]
            print(f"| {model} | {tokens} | {metrics['experts_alone_seconds'] * 1e6:.0f} | {way} | "
                  f"{spent[0] * 1e6:.0f} | {spent[1] * 1e6:.0f} | {metrics['added_percent']:+.1f}% |")


if __name__ == "__main__":
    layers.command(__doc__, measure, table, "deepseek-v3", "128,4096,8192", "tokens of each rank")
