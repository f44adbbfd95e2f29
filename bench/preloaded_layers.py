"""Layers whose collectives stand between GEMMs, with whatever NCCL library is preloaded: data checked, time.

  torchrun --nproc-per-node 2 bench/preloaded_layers.py --label NCCL
  env $(build/duet nccl-env) torchrun --nproc-per-node 2 bench/preloaded_layers.py --label Duet

Two micro-batches of bf16 go through
- tensor-parallel, a pair of layers that the ranks share: all_gather of the ranks' tokens, GEMM, GELU,
  GEMM, reduce_scatter of the results;
- expert-parallel, layers of which each rank has its own: all_to_all of tokens, GEMM, GELU, GEMM,
  all_to_all back;
- decode, a pair of layers that the ranks share, for so few tokens that reading the weights is all that its
  GEMMs take time for: GEMM, GELU, GEMM, all_reduce of the results, launched as a CUDA graph, as inference
  servers do.
In each of three ways: `alone` without collectives, `plain` one operation behind the other, `beside` with
the collectives of one micro-batch beside the GEMMs of the other. Results of `beside` must be those of
`plain` to the bit, and those of `plain` of a small batch must be what one rank computes by itself, within
bf16's rounding. Prints on rank 0: label, layers, way, milliseconds (the median), and the milliseconds
beyond `alone`. Exits with 1 if results were wrong.
"""

import argparse
import os
import statistics
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F

TIMED = 20
REPLAYS = 20  # of a graph, one behind the other: ranks begin a single one at different times
WARM_UP = 5
CHECKED_TOKENS = 256
TOLERANCE = 0.02  # of the largest value; sums of bf16 are rounded at several places


def tensor(seed, rows, columns, scale):
    """The same on every rank."""
    generator = torch.Generator(device='cuda').manual_seed(seed)
    made = torch.randn(rows, columns, device='cuda', dtype=torch.float32, generator=generator)
    return (scale * made).to(torch.bfloat16)


def weights(rank, hidden, inner):
    """So small that results are of the order of 1."""
    return tensor(4 * rank, hidden, inner, hidden ** -0.5), tensor(4 * rank + 1, inner, hidden, inner ** -0.5)


def tokens(rank, batch, count, hidden):
    return tensor(4 * rank + 2 + batch, count, hidden, 1)


class Layers:
    """Two micro-batches; of each a rank has `own` tokens at first, and computes on `computed`."""

    captured = False  # launched as a CUDA graph

    def __init__(self, ranks, rank, own, computed, hidden, inner):
        self.ranks = ranks
        self.up, self.down = weights(rank, hidden, inner)
        self.own = [tokens(rank, batch, own, hidden) for batch in range(2)]
        self.gathered = [torch.empty(computed, hidden, device='cuda', dtype=torch.bfloat16) for _ in range(2)]
        self.results = [torch.empty_like(each) for each in self.own]

    def compute(self, batch):
        return F.gelu(self.gathered[batch] @ self.up) @ self.down


class TensorParallel(Layers):
    """A micro-batch has `count` tokens on all ranks together; the ranks share `inner` columns."""

    name = 'tensor-parallel'

    def __init__(self, ranks, rank, count, hidden, inner):
        super().__init__(ranks, rank, count // ranks, count, hidden, inner // ranks)

    def begin(self, batch):
        return dist.all_gather_into_tensor(self.gathered[batch], self.own[batch], async_op=True)

    def finish(self, batch, made):
        return dist.reduce_scatter_tensor(self.results[batch], made, async_op=True)

    def expected(self, rank, batch):
        count, hidden = self.own[0].shape
        whole = torch.cat([tokens(each, batch, count, hidden) for each in range(self.ranks)])
        total = torch.zeros(whole.shape, device='cuda', dtype=torch.float32)
        for each in range(self.ranks):
            up, down = weights(each, hidden, self.up.shape[1])
            total += (F.gelu(whole @ up) @ down).float()
        return total[rank * count:(rank + 1) * count]


class ExpertParallel(Layers):
    """A micro-batch has `count` tokens on each rank, of which as many go to each rank's expert."""

    name = 'expert-parallel'

    def __init__(self, ranks, rank, count, hidden, inner):
        super().__init__(ranks, rank, count, count, hidden, inner)

    def begin(self, batch):
        return dist.all_to_all_single(self.gathered[batch], self.own[batch], async_op=True)

    def finish(self, batch, made):
        return dist.all_to_all_single(self.results[batch], made, async_op=True)

    def expected(self, rank, batch):
        hidden, inner = self.up.shape
        made = []
        for each, part in enumerate(self.own[batch].chunk(self.ranks)):
            up, down = weights(each, hidden, inner)
            made.append((F.gelu(part @ up) @ down).float())
        return torch.cat(made)


class Nothing:
    """In the place of a collective's handle, where there is no collective to wait for."""

    def wait(self):
        pass


class Decode(Layers):
    """A micro-batch has `count` tokens, which every rank has; the ranks share `inner` columns."""

    name = 'decode'
    captured = True

    def __init__(self, ranks, rank, count, hidden, inner):
        super().__init__(ranks, rank, count, count, hidden, inner // ranks)
        self.gathered = [tokens(0, batch, count, hidden) for batch in range(2)]

    def begin(self, batch):
        return Nothing()

    def compute(self, batch):
        return torch.matmul(F.gelu(self.gathered[batch] @ self.up), self.down, out=self.results[batch])

    def finish(self, batch, made):
        return dist.all_reduce(made, async_op=True)

    def expected(self, rank, batch):
        hidden, inner = self.up.shape
        total = torch.zeros(self.results[batch].shape, device='cuda', dtype=torch.float32)
        for each in range(self.ranks):
            up, down = weights(each, hidden, inner)
            total += (F.gelu(self.gathered[batch] @ up) @ down).float()
        return total


def alone(layers):
    for batch in range(2):
        layers.compute(batch)


def plain(layers):
    for batch in range(2):
        layers.begin(batch).wait()
        layers.finish(batch, layers.compute(batch)).wait()


def beside(layers):
    begun = [layers.begin(batch) for batch in range(2)]
    finished = []
    for batch in range(2):
        begun[batch].wait()
        finished.append(layers.finish(batch, layers.compute(batch)))
    for each in finished:
        each.wait()


def prepared(way, layers):
    """A function that launches the layers in this way."""
    way(layers)
    if not layers.captured:
        return lambda: way(layers)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode='thread_local'):
        way(layers)
    return graph.replay


def milliseconds(way, layers):
    launch = prepared(way, layers)
    launches = REPLAYS if layers.captured else 1
    times = []
    for _ in range(WARM_UP + TIMED):
        dist.barrier()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(launches):
            launch()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / launches)
    slowest = torch.tensor(statistics.median(times[WARM_UP:]), device='cuda')
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item()


def wrong_by_itself(layers, rank):
    """Of a small batch, whose results one rank can compute too."""
    plain(layers)
    bad = 0
    for batch in range(2):
        right = layers.expected(rank, batch)
        error = ((layers.results[batch].float() - right).abs().max() / right.abs().max()).item()
        if not error < TOLERANCE:
            print(f'rank {rank}: {layers.name}, batch {batch}: off by {error:.3f} of the largest value', file=sys.stderr)
            bad += 1
    return bad


def wrong_beside(layers, rank):
    plain(layers)
    right = [each.clone() for each in layers.results]
    launch = prepared(beside, layers)
    bad = 0
    for call in range(TIMED):
        for each in layers.results:
            each.fill_(float('nan'))
        launch()
        if not all(torch.equal(made, each) for made, each in zip(layers.results, right)):
            print(f'rank {rank}: {layers.name}: call {call} beside GEMMs left other data', file=sys.stderr)
            bad += 1
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--label', default='', help='first column')
    parser.add_argument('--tokens', type=int, default=8192, help='of a micro-batch (8192)')
    parser.add_argument('--hidden', type=int, default=8192, help='values of a token (8192)')
    parser.add_argument('--inner', type=int, default=28672, help='columns between the GEMMs (28672); of an expert a quarter')
    parser.add_argument('--decoded', type=int, default=16, help='tokens of a micro-batch of decode (16)')
    parser.add_argument('--layers', default='', help='names, separated by commas (all)')
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
    torch.zeros(1, device='cuda')  # a context, before the communicator is created
    dist.init_process_group('nccl')
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if options.tokens % ranks or options.inner % (4 * ranks):
        parser.error(f'expected --tokens of a multiple of {ranks}, and --inner of one of {4 * ranks}')
    cases = ((TensorParallel, options.tokens, options.inner),
             (ExpertParallel, options.tokens, options.inner // 4),
             (Decode, options.decoded, options.inner))
    named = [each for each in options.layers.split(',') if each] or [kind.name for kind, _, _ in cases]
    unknown = set(named) - {kind.name for kind, _, _ in cases}
    if unknown:
        parser.error(f'--layers: expected {", ".join(kind.name for kind, _, _ in cases)}, not {", ".join(unknown)}')
    bad = 0
    for kind, count, inner in (each for each in cases if each[0].name in named):
        bad += wrong_by_itself(kind(ranks, rank, CHECKED_TOKENS, 1024, 2048), rank)
        layers = kind(ranks, rank, count, options.hidden, inner)
        bad += wrong_beside(layers, rank)
        without = milliseconds(alone, layers)
        for way in (alone, plain, beside):
            time = without if way is alone else milliseconds(way, layers)
            if rank == 0:
                print(f'{options.label:8} {kind.name:16} {way.__name__:8} {time:9.3f} {time - without:9.3f}', flush=True)
        del layers
        torch.cuda.empty_cache()
    dist.destroy_process_group()
    return 1 if bad > 0 else 0


if __name__ == '__main__':
    sys.exit(main())
