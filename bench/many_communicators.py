#!/usr/bin/env python3
"""Whether memory, descriptors or threads are left by what Python opens, plans, enqueues and closes many times.

    DUET_LIBRARY=build/libduet.so PYTHONPATH=src/bindings/python python3 bench/many_communicators.py
    ... --opens 20 --calls 200 --devices host:2      a short form

Each part runs a tenth of its times before what is held is looked at, and then all. Exit code 1 where descriptors or
threads (but for MORE_THREADS) are left, or more than MOST_KIB of resident memory. `heaptrack python3 bench/...` tells who holds it
(PYTHONMALLOC=malloc).
"""
import argparse
import os
import sys
import time

import duet

MOST_KIB = 4096  # pages of an allocator come and go by some 1,000
MORE_THREADS = 3  # of those that are about to begin or to end


def held():
    """KiB resident, descriptors, threads."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["VmRSS"].split()[0]), len(os.listdir("/proc/self/fd")), int(lines["Threads"])


def held_again(before):
    """What is held when threads that are about to end have ended."""
    end = time.monotonic() + 5
    while held()[2] > before[2] and time.monotonic() < end:
        time.sleep(0.01)
    return held()


def opens(device, times):
    def gather(rank):
        send, recv, stream = rank.empty(1, "int32"), rank.empty(rank.size, "int32"), rank.stream()
        call = rank.plan("all_gather", send, recv)
        call.enqueue(stream)
        stream.synchronize()
        call.retire()
        for end in (stream.close, send.free, recv.free):
            end()

    for _ in range(times):
        with duet.Communicator(device) as comm:
            comm.each(gather)


def plans(rank, times):
    memory = rank.empty(8 * rank.size, "fp32")
    for _ in range(times):
        rank.plan("all_reduce", memory, memory).retire()
    memory.free()


def norms(rank, times):
    x, residual, row = (rank.empty(count, "fp32") for count in (64, 64, 16))
    for _ in range(times):
        rank.plan("all_reduce", x, x, residual=residual, weight=row).retire()
    for memory in (x, residual, row):
        memory.free()


def enqueues(rank, times):
    memory, stream = rank.empty(8 * rank.size, "fp32"), rank.stream()
    call = rank.plan("all_reduce", memory, memory)
    for turn in range(times):
        call.enqueue(stream)
        if turn % 100 == 99:
            stream.synchronize()
    stream.synchronize()
    call.retire()
    stream.close()
    memory.free()


def buffers(rank, times):
    for _ in range(times):
        memory, stream = rank.empty(4096), rank.stream()
        stream.close()
        memory.free()


def overlaps(rank, times):
    for _ in range(times):
        rank.overlap().close()


def refusals(rank, times):
    memory = rank.empty(7)
    for _ in range(times):
        try:
            rank.plan("all_reduce", memory, memory)
            raise SystemExit("a sum of bytes was planned")
        except duet.BadArgument:
            pass
    memory.free()


def failures(comm, times):
    def fails(rank):
        if rank.index == 0:
            raise KeyError("mine")
        rank.barrier()

    for _ in range(times):
        try:
            comm.each(fails)
        except KeyError:
            pass
        comm.each(lambda rank: rank.barrier())


def divisions(comm, times):
    groups = [[rank, rank + 1] for rank in range(0, comm.size, 2)]
    for _ in range(times):
        divided = comm.divide(groups)
        comm.each(lambda rank: divided.of(rank).barrier())
        divided.close()


def left_by(name, times, function):
    """Says what a part has left, and whether that is too much."""
    function(max(1, times // 10))
    before, begin = held(), time.monotonic()
    function(times)
    each = (time.monotonic() - begin) / times * 1e6
    after = held_again(before)
    wrong = after[0] - before[0] > MOST_KIB or after[1] > before[1] or \
        after[2] > before[2] + MORE_THREADS
    print(f"  {name:12}{times:>7} times, {each:8.0f} us each: KiB resident {before[0]} -> {after[0]}, descriptors "
          f"{before[1]} -> {after[1]}, threads {before[2]} -> {after[2]}{'  WRONG' if wrong else ''}", flush=True)
    return wrong


def check(device, arguments):
    print(device)
    wrong = left_by("opens", arguments.opens, lambda times: opens(device, times))
    with duet.Communicator(device) as comm:
        for function, times in ((plans, arguments.calls // 10), (norms, arguments.calls // 10),
                                (enqueues, arguments.calls), (buffers, arguments.calls), (overlaps, arguments.calls // 10),
                                (refusals, arguments.calls // 10)):
            wrong |= left_by(function.__name__, times, lambda times: comm.each(lambda rank: function(rank, times)))
        for function in (failures, divisions):
            wrong |= left_by(function.__name__, arguments.calls // 50, lambda times: function(comm, times))
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", default="host:2,sim:h200-4", help="each with an even number of ranks")
    parser.add_argument("--opens", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=10000, help="enqueued; of what takes longer a tenth or less")
    arguments = parser.parse_args()
    sys.exit(any([check(device, arguments) for device in arguments.devices.split(",")]))


if __name__ == "__main__":
    main()
