"""PyTorch's collectives with whatever library is preloaded: data checked, time by size.

  torchrun --nproc-per-node 2 bench/preloaded.py --label NCCL
  LD_PRELOAD=build/nccl_shim/libduet-nccl.so DUET_NCCL_MIN_ALL_GATHER=1M \\
    torchrun --nproc-per-node 2 bench/preloaded.py --label Duet

Each size is first called with new buffers on every rank at every call, and each result is compared
with what the ranks sent. Then the median of 20 calls between two events is printed, on rank 0:
label, collective, bytes of all ranks' parts, microseconds, busbw in GB/s. Exits with 1 if any data
were wrong.
"""

import argparse
import os
import statistics
import sys

import torch
import torch.distributed as dist

CHECKED_CALLS = 10
TIMED_CALLS = 20


def parts(kind, size, ranks, rank, call):
    """What a rank sends in a call, and room for what it receives."""
    count = size // 2 // ranks
    sent = torch.full((count if kind == 'all_gather' else count * ranks,), rank + 1 + call % 7,
                      dtype=torch.bfloat16, device='cuda')
    return sent, torch.empty(count * ranks, dtype=torch.bfloat16, device='cuda')


def run(kind, received, sent):
    if kind == 'all_gather':
        dist.all_gather_into_tensor(received, sent)
    else:
        dist.all_to_all_single(received, sent)


def wrong(kind, size, ranks, rank):
    """How many of the checked calls left something else than the ranks sent."""
    bad = 0
    for call in range(CHECKED_CALLS):
        sent, received = parts(kind, size, ranks, rank, call)
        run(kind, received, sent)
        expected = torch.arange(1, ranks + 1, device='cuda', dtype=torch.bfloat16) + call % 7
        bad += not torch.equal(received.view(ranks, -1), expected.view(ranks, 1).expand(ranks, size // 2 // ranks))
        if call % 3 == 2:
            torch.cuda.empty_cache()
    return bad


def microseconds(kind, size, ranks, rank):
    sent, received = parts(kind, size, ranks, rank, 0)
    times = []
    for _ in range(TIMED_CALLS + 5):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run(kind, received, sent)
        end.record()
        end.synchronize()
        times.append(1000 * begin.elapsed_time(end))
    return statistics.median(times[5:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--label', default='', help='first column')
    parser.add_argument('--largest', type=int, default=1 << 30, help='bytes of all parts (1 GiB)')
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
    torch.zeros(1, device='cuda')  # a context, before the communicator is created
    dist.init_process_group('nccl')
    rank, ranks = dist.get_rank(), dist.get_world_size()
    bad = 0
    for kind in ('all_gather', 'all_to_all'):
        size = 64 << 10
        while size <= options.largest:
            bad += wrong(kind, size, ranks, rank)
            time = microseconds(kind, size, ranks, rank)
            if rank == 0:
                rate = size * (ranks - 1) / ranks / time / 1000
                print(f'{options.label:8} {kind:10} {size:12} {time:10.1f} {rate:8.1f}', flush=True)
            size *= 4
    dist.destroy_process_group()
    if bad > 0:
        print(f'rank {rank}: {bad} calls left wrong data', file=sys.stderr)
    return 1 if bad > 0 else 0


if __name__ == '__main__':
    sys.exit(main())
