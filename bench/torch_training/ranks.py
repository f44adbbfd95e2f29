"""Runs a row of several ranks by a process for each, new ones for each row."""
import multiprocessing
import os
import signal
import socket
import threading
import time
from multiprocessing import connection

import torch

from torch_training.parallel import Group

ENDS_WITHIN = 10.0  # seconds, of a process that was killed


class RowFailed(Exception):
    pass


def first_line(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def end_with_parent():
    """Ends this process and those that it starts as soon as its parent is gone, however."""
    os.setsid()

    def wait():
        multiprocessing.parent_process().join()
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def device_of(row, rank):
    if row.device_type == "cpu":
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // row.ranks))
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        return torch.device("cpu")
    device = torch.device("cuda", row.device_index + rank)
    torch.cuda.set_device(device)
    return device


def run_rank(row, work, rank, address, results):
    """What a rank's process does. It sends one message, (failed, what), and then stays until it is
    killed: others must not fail because it is gone."""
    end_with_parent()
    torch.set_float32_matmul_precision("highest")
    try:
        device = device_of(row, rank)
        group = Group(rank, row.ranks, device, address, row.limit)
        results.send((False, work(row, device, group)))
    except Exception as error:  # out of memory, or what PyTorch cannot compile
        results.send((True, first_line(error)))
    time.sleep(row.limit)


def received(results, rank, process):
    try:
        failed, what = results.recv()
    except EOFError:
        process.join(ENDS_WITHIN)
        raise RowFailed(f"rank {rank} ended with exit code {process.exitcode}") from None
    if failed:
        raise RowFailed(f"rank {rank}: {what}")
    return what


def first_results(row, ends, processes):
    """That of rank 0, once all ranks have one."""
    deadline = time.monotonic() + row.limit
    waiting = dict(zip(ends, range(row.ranks)))
    found = {}
    while waiting:
        ready = connection.wait(list(waiting), max(0.0, deadline - time.monotonic()))
        if not ready:
            raise RowFailed(f"no result within {row.limit:g} s")
        for end in ready:
            rank = waiting.pop(end)
            found[rank] = received(end, rank, processes[rank])
    return found[0]


def run_by_ranks(row, work):
    """What work(row, device, Group) returns on rank 0. Raises RowFailed with the reason of the
    first rank that failed, or if there is no result within the row's limit; no process is left."""
    context = multiprocessing.get_context("spawn")
    address = f"tcp://127.0.0.1:{free_port()}"
    ends, processes = [], []
    try:
        for rank in range(row.ranks):
            receiving, sending = context.Pipe(duplex=False)
            process = context.Process(target=run_rank, args=(row, work, rank, address, sending))
            process.start()
            processes.append(process)
            ends.append(receiving)
            sending.close()
        return first_results(row, ends, processes)
    finally:
        for process in processes:
            kill(process)


def kill(process):
    """And what it started, once it is the leader of its own group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    process.join(ENDS_WITHIN)
