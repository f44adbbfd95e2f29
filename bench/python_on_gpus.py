"""Collectives of the Python package on PyTorch's tensors, one process a GPU, beside NCCL:

    DUET_LIBRARY=build/libduet.so PYTHONPATH=src/bindings/python \
        torchrun --nproc-per-node 2 bench/python_on_gpus.py

Checks results of calls that are made one by one and captured in a graph, and that a barrier that is
interrupted ends in all processes. Prints a table: us a call, median of turns; exit code 1 where one is wrong.
"""
import os
import statistics
import sys
import threading
import time

os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")  # before CUDA starts
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")

import torch
import torch.distributed as dist

import duet

CALLS, TURNS = 20, 7


def broadcast(mine):
    box = [mine]
    dist.broadcast_object_list(box, group=GLOO)
    return box[0]


def buffers(kind, bytes_, index, size):
    """Send and receive tensors of a call, and what is received: ranks send their number + 1."""
    count = bytes_ // 2 // size * size  # elements of the larger buffer
    send_count = count // size if kind == "all_gather" else count
    recv_count = count // size if kind == "reduce_scatter" else count
    send = torch.full((send_count,), index + 1, dtype=torch.bfloat16, device="cuda")
    recv = torch.zeros(recv_count, dtype=torch.bfloat16, device="cuda")
    if kind in ("all_gather", "all_to_all"):
        expected = torch.arange(1, size + 1, dtype=torch.bfloat16, device="cuda")
        expected = expected.repeat_interleave(count // size)
    else:
        expected = torch.full_like(recv, size * (size + 1) / 2)
    return send, recv, expected


def by_nccl(kind, send, recv):
    if kind == "all_gather":
        dist.all_gather_into_tensor(recv, send)
    elif kind == "all_to_all":
        dist.all_to_all_single(recv, send)
    elif kind == "reduce_scatter":
        dist.reduce_scatter_tensor(recv, send)
    else:
        recv.copy_(send)
        dist.all_reduce(recv)


def captured(function):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        function()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            function()
    return graph.replay


def seconds(function):
    """Of a function that makes CALLS calls, each, as the slowest rank sees it."""
    turns = []
    for _ in range(TURNS):
        dist.barrier(group=GLOO)
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        function()
        end.record()
        torch.cuda.synchronize()
        turns.append(begin.elapsed_time(end) / 1e3 / CALLS)
    mine = torch.tensor([statistics.median(turns)], dtype=torch.float64)
    dist.all_reduce(mine, op=dist.ReduceOp.MAX, group=GLOO)
    return mine.item()


def many(function):
    def calls():
        for _ in range(CALLS):
            function()
    return calls


def measure(rank, kind, bytes_):
    send, recv, expected = buffers(kind, bytes_, rank.index, rank.size)
    call = rank.plan(kind, send, recv)
    wrong = []
    figures = []
    for name, run in (("eager", many(call.enqueue)), ("captured", captured(call.enqueue))):
        recv.zero_()
        torch.cuda.synchronize()
        dist.barrier(group=GLOO)
        run()
        torch.cuda.synchronize()
        if not torch.equal(recv, expected):
            wrong.append(name)
        figures.append(seconds(run))
    begin = time.perf_counter()
    many(call.enqueue)()
    enqueue = (time.perf_counter() - begin) / CALLS
    torch.cuda.synchronize()
    nccl = [seconds(many(lambda: by_nccl(kind, send, recv))),
            seconds(captured(lambda: by_nccl(kind, send, recv)))]
    algorithm = call.algorithm
    call.retire()
    return figures, nccl, enqueue, algorithm, wrong


def on_stream(part):
    native = part.native  # None is the default stream; ExternalStream(0) would be a new one
    return torch.cuda.stream(torch.cuda.ExternalStream(native) if native else torch.cuda.default_stream())


def rows_of(part):
    return torch.as_tensor(part, device="cuda").view(torch.bfloat16)


def near(found, expected):
    return (found.float() - expected).abs().max().item() <= 0.02 * expected.abs().max().item()


def check_rows(rank, adds):
    """A GEMM of what is gathered, or whose results are summed, is that of all rows."""
    rows, columns, width = 256, 512, 384  # of a rank, of what is sent, of the other matrix
    torch.manual_seed(1)
    x = torch.randn(rank.size * rows, columns, device="cuda").bfloat16()
    weight = torch.randn(width, columns, device="cuda").bfloat16()
    own = slice(rank.index * rows, (rank.index + 1) * rows)
    if not adds:
        all_rows, y = torch.zeros_like(x), torch.zeros(rank.size * rows, width, device="cuda").bfloat16()
        call = rank.plan("all_gather", x[own], all_rows, columns=columns)

        def multiply(part):
            where = slice(part.first, part.first + part.count)
            with on_stream(part):
                torch.mm(rows_of(part), weight.t(), out=y[where])
        expected = x.float() @ weight.float().t()
    else:
        partial = torch.zeros(rank.size * rows, width, device="cuda").bfloat16()
        y = torch.zeros(rows, width, device="cuda").bfloat16()
        call = rank.plan("reduce_scatter", partial, y, columns=width, ranges=2)

        def multiply(part):
            where = slice(part.first, part.first + part.count)
            with on_stream(part):
                to = rows_of(part)
                if part.adds:
                    torch.addmm(to, x[where], weight.t(), out=to)
                else:
                    torch.mm(x[where], weight.t(), out=to)
        expected = rank.size * (x.float() @ weight.float().t())[own]
    torch.cuda.synchronize()
    for _ in range(3):
        y.zero_()
        call.enqueue_rows(multiply)
    torch.cuda.synchronize()
    is_near = near(y, expected)
    call.retire()
    return is_near


def check_ends(comm, rank):
    """What waits is interrupted; then all ranks hear of it, and go on."""
    said = []
    if rank.index == 0:
        threading.Timer(0.5, lambda: duet.library.library().duet_comm_interrupt(comm._handle)).start()
    try:
        if rank.index == 0:
            rank.barrier("a rank that does not come", 60)
        else:
            time.sleep(1.5)
            rank.barrier("a rank that was interrupted", 60)
    except (duet.Interrupted, duet.PeerFailed) as error:
        said.append(type(error).__name__)
    rank.barrier("all ranks to go on")
    return said == ["Interrupted" if rank.index == 0 else "PeerFailed"]


def main():
    global GLOO
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    GLOO = dist.new_group(backend="gloo")
    failures = 0
    with duet.Communicator("cuda", index=dist.get_rank(), count=dist.get_world_size(),
                           local_index=local, one_node=True, broadcast=broadcast) as comm:
        rank = comm.rank()
        if rank.index == 0:
            print(f"{rank.size} x {rank.model}, PyTorch {torch.__version__}; us a call: duet, NCCL")
            print(f"{'':16}{'bytes':>10}{'eager':>16}{'captured':>16}{'enqueue':>9}  algorithm")
        for kind in ("all_gather", "all_to_all", "reduce_scatter", "all_reduce"):
            for bytes_ in (4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20):
                duets, nccl, enqueue, algorithm, wrong = measure(rank, kind, bytes_)
                failures += len(wrong)
                if rank.index == 0:
                    pairs = [f"{a * 1e6:.1f} {b * 1e6:.1f}" for a, b in zip(duets, nccl)]
                    print(f"{kind:16}{bytes_:10}{pairs[0]:>16}{pairs[1]:>16}{enqueue * 1e6:9.1f}"
                          f"  {algorithm}{'  WRONG: ' + ', '.join(wrong) if wrong else ''}", flush=True)
        for adds in (False, True):
            right = check_rows(rank, adds)
            failures += not right
            if rank.index == 0:
                print("rows that are", "summed:" if adds else "gathered:", "right" if right else "WRONG")
        ended = check_ends(comm, rank)
        failures += not ended
        if rank.index == 0:
            print("an interrupted call ends, and its peers hear of it:", "yes" if ended else "NO")
    dist.destroy_process_group()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
