"""PyTorch's collectives with whatever library is preloaded: data checked, time by size.

  torchrun --nproc-per-node 2 bench/preloaded.py --label NCCL
  LD_PRELOAD=build/nccl_shim/libduet-nccl.so DUET_NCCL_MIN_ALL_GATHER=1M DUET_NCCL_MIN_REDUCE_SCATTER=1M \\
    torchrun --nproc-per-node 2 bench/preloaded.py --label Duet

Each size is first called with new buffers on every rank at every call, and each result is compared
with what the ranks sent: small integers, whose sums are exact. Then the median of 20 calls between
two events is printed, on rank 0: label, collective, bytes of all ranks' parts (of all_reduce: of the
buffer; of ring and pipeline: of a message), microseconds, busbw in GB/s. Of all_to_all_v parts have
several sizes. ring: each rank sends to the next one and receives from the one before; pipeline: even
ranks send to the next one. NCCL has these three as sends and receives. Before that reductions are checked for every type and operation
that Duet's library knows, for counts that are no multiples of anything, in place and not. With --graph
calls of 8 KiB to 1 MiB are captured: the data of two graphs' launches are compared, with other calls
between them, and the time is that of one call of a graph of 32. Exits with 1 if any data were wrong.
"""

import argparse
import itertools
import os
import statistics
import sys

import torch
import torch.distributed as dist

CHECKED_CALLS = 10
TIMED_CALLS = 20
REDUCTIONS = ('reduce_scatter', 'all_reduce')
MESSAGES = ('ring', 'pipeline')
GRAPH_KINDS = ('all_gather', 'all_to_all') + REDUCTIONS
KINDS = GRAPH_KINDS + ('all_to_all_v',) + MESSAGES
GRAPH_CALLS = 32
ODD_COUNT = 3 * (1 << 20) + 5  # of a part: more than one piece of Duet's slots


def pattern(count, rank, call, dtype=torch.bfloat16):
    """What rank `rank` sends in a call: at most 26, so that sums of 8 ranks are exact in bfloat16."""
    numbers = torch.arange(13, dtype=torch.float32, device='cuda').repeat(count // 13 + 1)[:count]
    return (numbers + (rank + 1 + call % 7)).to(dtype)


def reduced(count, ranks, call, op, dtype=torch.bfloat16):
    """What a reduction of all ranks' patterns is."""
    one = pattern(count, 0, call, torch.float32)
    total = {dist.ReduceOp.SUM: one * ranks + ranks * (ranks - 1) // 2, dist.ReduceOp.MAX: one + ranks - 1,
             dist.ReduceOp.MIN: one, dist.ReduceOp.AVG: one + (ranks - 1) / 2}[op]
    return total.to(dtype)


def uneven(elements, ranks, source):
    """Of an all_to_all_v of `elements` a rank: how many of them `source` sends to each rank."""
    unit = 2 * elements // (ranks * (ranks + 1))
    return [unit * (1 + (source + to) % ranks) for to in range(ranks)]


def peers(kind, ranks, rank):
    """To which rank a message goes, and from which one comes; None: no."""
    if kind == 'ring':
        return (rank + 1) % ranks, (rank - 1) % ranks
    return (None, rank - 1) if rank % 2 == 1 else (rank + 1 if rank + 1 < ranks else None, None)


def parts(kind, size, ranks, rank, call):
    """What a rank sends in a call, and room for what it receives."""
    if kind in MESSAGES:
        return pattern(size // 2, rank, call), torch.empty(size // 2, dtype=torch.bfloat16, device='cuda')
    if kind == 'all_to_all_v':  # as many elements of each rank, and to each
        count = sum(uneven(size // 2, ranks, rank))
        return pattern(count, rank, call), torch.empty(count, dtype=torch.bfloat16, device='cuda')
    count = size // 2 // ranks
    sent = pattern(count if kind == 'all_gather' else count * ranks, rank, call)
    if kind == 'all_reduce':
        return sent, sent
    received = count if kind == 'reduce_scatter' else count * ranks
    return sent, torch.empty(received, dtype=torch.bfloat16, device='cuda')


def send_and_receive(kind, received, sent):
    to, source = peers(kind, dist.get_world_size(), dist.get_rank())
    operations = [dist.P2POp(dist.isend, sent, to)] if to is not None else []
    operations += [dist.P2POp(dist.irecv, received, source)] if source is not None else []
    for work in dist.batch_isend_irecv(operations) if operations else []:
        work.wait()


def all_to_all_v(received, sent):
    ranks, rank = dist.get_world_size(), dist.get_rank()
    counts = [uneven(sent.numel(), ranks, source) for source in range(ranks)]
    dist.all_to_all_single(received, sent, [each[rank] for each in counts], counts[rank])


def run(kind, received, sent, op=dist.ReduceOp.SUM):
    if kind in MESSAGES:
        send_and_receive(kind, received, sent)
    elif kind == 'all_to_all_v':
        all_to_all_v(received, sent)
    elif kind == 'all_gather':
        dist.all_gather_into_tensor(received, sent)
    elif kind == 'all_to_all':
        dist.all_to_all_single(received, sent)
    elif kind == 'reduce_scatter':
        dist.reduce_scatter_tensor(received, sent, op=op)
    else:
        if received is not sent:
            received.copy_(sent)
        dist.all_reduce(received, op=op)


def expected(kind, size, ranks, rank, call):
    """None: nothing is received."""
    if kind in MESSAGES:
        source = peers(kind, ranks, rank)[1]
        return None if source is None else pattern(size // 2, source, call)
    if kind == 'all_to_all_v':
        counts = [uneven(size // 2, ranks, source) for source in range(ranks)]
        begins = [sum(each[:rank]) for each in counts]
        return torch.cat([pattern(sum(counts[source]), source, call)[begins[source]:begins[source] + counts[source][rank]]
                          for source in range(ranks)])
    count = size // 2 // ranks
    if kind == 'all_gather':
        return torch.cat([pattern(count, each, call) for each in range(ranks)])
    if kind == 'all_to_all':
        own = slice(rank * count, (rank + 1) * count)
        return torch.cat([pattern(count * ranks, each, call)[own] for each in range(ranks)])
    whole = reduced(count * ranks, ranks, call, dist.ReduceOp.SUM)
    return whole if kind == 'all_reduce' else whole[rank * count:(rank + 1) * count]


def wrong(kind, size, ranks, rank):
    """How many of the checked calls left something else than the ranks sent."""
    bad = 0
    for call in range(CHECKED_CALLS):
        sent, received = parts(kind, size, ranks, rank, call)
        run(kind, received, sent)
        right = expected(kind, size, ranks, rank, call)
        bad += right is not None and not torch.equal(received, right)
        if call % 3 == 2:
            torch.cuda.empty_cache()
    return bad


def wrong_reductions(ranks, rank):
    """How many reductions of odd counts were wrong, by type, operation and place."""
    ops = [dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN]
    bad = 0
    for call, (kind, dtype, op, in_place) in enumerate(itertools.product(
            REDUCTIONS, (torch.float32, torch.float16, torch.bfloat16, torch.int32),
            ops + ([dist.ReduceOp.AVG] if ranks & (ranks - 1) == 0 else []), (False, True))):
        sent = pattern(ODD_COUNT * ranks, rank, call, dtype)
        own = slice(rank * ODD_COUNT, (rank + 1) * ODD_COUNT) if kind == 'reduce_scatter' else slice(None)
        received = sent[own] if in_place else torch.empty_like(sent[own])
        run(kind, received, sent, op)
        if not torch.equal(received, reduced(ODD_COUNT * ranks, ranks, call, op, dtype)[own]):
            print(f'rank {rank}: wrong data: {kind} {dtype} {op} {"in place" if in_place else ""}', file=sys.stderr)
            bad += 1
    return bad


def median_microseconds(launch):
    times = []
    for _ in range(TIMED_CALLS + 5):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        launch()
        end.record()
        end.synchronize()
        times.append(1000 * begin.elapsed_time(end))
    return statistics.median(times[5:])


def microseconds(kind, size, ranks, rank):
    sent, received = parts(kind, size, ranks, rank, 0)
    return median_microseconds(lambda: run(kind, received, sent))


def share_that_crosses(kind, ranks):
    """Of the size that is printed, in one direction of a rank's link."""
    if kind in MESSAGES:
        return 1
    if kind == 'all_to_all_v':
        counts = uneven(ranks * (ranks + 1), ranks, 0)
        return 1 - counts[0] / sum(counts)
    return (ranks - 1) / ranks * (2 if kind == 'all_reduce' else 1)


def captured(kind, received, sent):
    """A graph of one call for each of the receive buffers."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode='thread_local'):
        for each in received:
            run(kind, each, sent)
    return graph


def wrong_in_graphs(kind, size, ranks, rank):
    """How many calls of launches, and between them, left something else than the ranks sent."""
    sent, shape = parts(kind, size, ranks, rank, 0)
    received = [torch.empty_like(shape) for _ in range(4)]
    run(kind, received[3], sent)
    one, two = captured(kind, received[:1], sent), captured(kind, received[1:3], sent)
    bad = 0
    for call in range(CHECKED_CALLS):
        sent.copy_(parts(kind, size, ranks, rank, call)[0])
        one.replay()
        for _ in range(call % 3):
            run(kind, received[3], sent)
        two.replay()
        made = received if call % 3 > 0 else received[:3]
        right = expected(kind, size, ranks, rank, call)
        bad += sum(not torch.equal(each, right) for each in made)
    return bad


def microseconds_in_graph(kind, size, ranks, rank):
    sent, received = parts(kind, size, ranks, rank, 0)
    return median_microseconds(captured(kind, [received] * GRAPH_CALLS, sent).replay) / GRAPH_CALLS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--label', default='', help='first column')
    parser.add_argument('--largest', type=int, default=1 << 30, help='bytes of all parts (1 GiB)')
    parser.add_argument('--graph', action='store_true', help='calls are captured, up to 1 MiB')
    parser.add_argument('--kinds', default='', help=f'some of {",".join(KINDS)}; captured: of {",".join(GRAPH_KINDS)}')
    options = parser.parse_args()
    kinds = options.kinds.split(',') if options.kinds else GRAPH_KINDS if options.graph else KINDS
    known = GRAPH_KINDS if options.graph else KINDS
    if not set(kinds) <= set(known):
        parser.error(f'--kinds: expected some of {",".join(known)}, not {options.kinds}')
    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
    torch.zeros(1, device='cuda')  # a context, before the communicator is created
    dist.init_process_group('nccl')
    rank, ranks = dist.get_rank(), dist.get_world_size()
    bad = wrong_reductions(ranks, rank) if set(kinds) & set(REDUCTIONS) and not options.graph else 0
    checked, timed = (wrong_in_graphs, microseconds_in_graph) if options.graph else (wrong, microseconds)
    largest = min(options.largest, 1 << 20) if options.graph else options.largest
    for kind in kinds:
        size = (8 if options.graph else 64) << 10
        while size <= largest:
            bad += checked(kind, size, ranks, rank)
            time = timed(kind, size, ranks, rank)
            if rank == 0:
                rate = size * share_that_crosses(kind, ranks) / time / 1000
                print(f'{options.label:8} {kind:14} {size:12} {time:10.1f} {rate:8.1f}', flush=True)
            size *= 2 if options.graph else 4
    dist.destroy_process_group()
    if bad > 0:
        print(f'rank {rank}: {bad} calls left wrong data', file=sys.stderr)
    return 1 if bad > 0 else 0


if __name__ == '__main__':
    sys.exit(main())
