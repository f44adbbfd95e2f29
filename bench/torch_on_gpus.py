#!/usr/bin/env python3
"""duet.torch on GPUs: whether it is right, and what it costs beside NCCL and PyTorch's symmetric memory.

    DUET_LIBRARY=build/libduet.so PYTHONPATH=src/bindings/python python3 bench/torch_on_gpus.py
    ... bench/torch_on_gpus.py --device cpu      two processes on the CPU, beside gloo
    ... bench/torch_on_gpus.py --ranks 2         on one GPU, which they share, beside gloo: results, and the
                                                 CPU's time; the GPU's is none of a machine that is used so

It starts a process for each GPU. Parts, of which --parts names some:
  operators      opcheck of each; results and gradients by torch.compile, whole graphs, beside eager ones
  graphs         captured calls give what eager ones do (GPUs)
  collectives    results and times beside NCCL's or gloo's (several ranks)
  calls          CPU time of a call, which returns before the device is done; on CPUs that of a call that
                 enqueues nothing
  killed         a rank that is killed between calls: the others' end with an error (several ranks)
  communicators  memory and descriptors before and after many are opened and closed
  mlp            Llama-70B's tensor-parallel MLP: GEMMs alone, NCCL, symmetric memory, duet.torch by each
                 way of multiplying rows, by turns (several ranks); --json appends to a journal
Exit code 1 where something is wrong.
"""
import argparse
import os
import signal
import socket
import statistics
import sys
import time
import timeit
import unittest.mock

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")

import torch
import torch.distributed as dist

import duet
import duet.torch as dt
import layers

VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
PARTS = ("operators", "graphs", "collectives", "calls", "killed", "communicators", "mlp")
TOLD = 42  # exit code of a process that heard of a peer's death
WAYS = {"1 by_compute 1": {}, "2 by_compute 1": {"ranges": 2}, "2 by_compute 2": {"ranges": 2, "streams": 2},
        "1 in_slots 1": {"sums": "in_slots"}}
TOLERANCE = 0.02  # of the largest value, in bf16
EXPERTS = 4  # of a rank


class Bench:
    """What all parts use. `wrong`: what was found wrong on this rank."""

    def __init__(self, arguments, comm):
        self.arguments, self.comm, self.wrong = arguments, comm, []
        self.device, self.gpu = comm.device, comm.device.type == "cuda"
        self.kind = comm.device.type
        self.vendor = "NCCL" if dist.get_backend() == "nccl" else "gloo"
        self.dtype = torch.bfloat16 if self.gpu else torch.float32  # gloo has not bf16 everywhere

    def say(self, *words):
        if self.comm.rank == 0:
            print(*words, flush=True)

    def check(self, what, found, expected):
        apart = (found.double() - expected.double()).abs().max().item()
        if not apart <= TOLERANCE * expected.double().abs().max().item():
            self.wrong.append(f"{what}: differs by {apart:.3g}")
            print(f"rank {self.comm.rank}: WRONG: {self.wrong[-1]}", flush=True)

    def random(self, *shape, dtype=None):
        return torch.randn(*shape, device=self.device).to(dtype or self.dtype)

    def synchronize(self):
        if self.gpu:
            torch.cuda.synchronize()

    def seconds(self, call):
        """The median of a call's, on the slowest rank."""
        return statistics.median(layers.by_turns(torch, dist, {"torch-none": call}, self.arguments.seconds,
                                                 self.kind)["torch-none"])


# ---- Whether it is right ------------------------------------------------------------------------


def operators(b):
    if VERSION < (2, 4):
        return b.say(f"operators: left out: PyTorch {torch.__version__} has no opcheck")
    size, ops, name = b.comm.size, torch.ops.duet, b.comm.name
    x, w = b.random(8 * size, 64, dtype=torch.float32), b.random(64, 32, dtype=torch.float32)
    tried = ((ops.all_gather, (x, name)), (ops.reduce_scatter, (x, name)), (ops.all_reduce, (x, name)),
             (ops.all_to_all, (x, name)), (ops.all_gather_matmul, (x, [w], True, name)),
             (ops.matmul_reduce_scatter, (x, w, name)), (ops.matmul_all_reduce, (x, w, name)),
             (ops.all_reduce_rms_norm, (x, x, x[0].clone(), 1e-6, name)))
    chosen, weights = routed(b, len(x))
    routing = torch.cat([chosen, weights.view(torch.int32)], dim=1)
    experts = EXPERTS * size
    rows, _, places, all_routing = ops.dispatch_tokens(x, routing, len(x), experts, name)
    tried += ((ops.dispatch_tokens, (x, routing, len(x), experts, name)),
              (ops.combine_tokens, (rows, places, all_routing, len(x), experts, name)))
    for op, given in tried:
        said = torch.library.opcheck(op.default, given, raise_exception=False)
        bad = {test: why for test, why in said.items() if why != "SUCCESS"}
        if bad:
            b.wrong.append(f"opcheck {op}: {bad}")
            print(f"rank {b.comm.rank}: WRONG: {b.wrong[-1]}", flush=True)
    b.say(f"operators: opcheck of {len(tried)}")
    backends = [{"backend": "inductor"}, {"mode": "reduce-overhead"}] if b.gpu else [{"backend": "aot_eager"}]
    for how in backends:
        compiled(b, how)
        b.say(f"operators: torch.compile {how}, a whole graph, forward and backward")


def routed(b, tokens):
    """Two experts of each token, and their weights."""
    numbers = torch.arange(tokens, dtype=torch.int32, device=b.device)[:, None]
    chosen = (numbers + torch.tensor([0, EXPERTS - 1], dtype=torch.int32, device=b.device)) % (EXPERTS * b.comm.size)
    return chosen, b.random(tokens, 2, dtype=torch.float32)


def compiled(b, how):
    """A layer's results and gradients, eager and compiled."""
    def layer(x, up, down):
        y = torch.relu(dt.all_gather_matmul(x, up, b.comm))
        z = dt.matmul_reduce_scatter(y, down, b.comm)
        whole = dt.all_gather(z, b.comm)
        exchanged = dt.all_to_all(dt.all_reduce(whole, b.comm), b.comm)
        return z + dt.reduce_scatter(whole, b.comm, "avg") + exchanged[:len(z)]

    torch.manual_seed(b.comm.rank)
    given = [b.random(*shape, dtype=torch.float32).requires_grad_()
             for shape in ((32, 64), (64, 128), (128, 64))]
    found = []
    for function in (layer, torch.compile(layer, fullgraph=True, **how)):
        for _ in range(3):  # where a mode captures graphs, it does so after the first
            if hasattr(torch, "compiler"):
                torch.compiler.cudagraph_mark_step_begin()
            for each in given:
                each.grad = None
            y = function(*given)
            y.square().sum().backward()
        found.append([y.detach().clone(), *[each.grad.clone() for each in given]])
    for what, eager, other in zip(("y", "x.grad", "up.grad", "down.grad"), *found):
        b.check(f"compiled {how} {what}", other, eager)


def graphs(b):
    if not b.gpu:
        return b.say("graphs: left out: no GPU")
    size = b.comm.size
    x, w = b.random(256 * size, 512), b.random(512, 384)
    chosen, weights = routed(b, len(x))

    def exchanged():
        there = dt.dispatch_tokens(x, chosen, weights, EXPERTS * size, b.comm)
        return dt.combine_tokens(there.rows * 2, there)

    functions = {
        "all_gather": lambda: dt.all_gather(x, b.comm),
        "all_to_all": lambda: dt.all_to_all(x, b.comm),
        "reduce_scatter": lambda: dt.reduce_scatter(x, b.comm),
        "all_reduce": lambda: dt.all_reduce(x, b.comm),
        "all_reduce_rms_norm": lambda: dt.all_reduce_rms_norm(x, x, x[0], 1e-6, b.comm)[0],
        "all_gather_matmul": lambda: dt.all_gather_matmul(x, w, b.comm),
        "matmul_reduce_scatter": lambda: dt.matmul_reduce_scatter(x, w, b.comm),
        "matmul_all_reduce": lambda: dt.matmul_all_reduce(x, w, b.comm),
        "dispatch_tokens and combine_tokens": exchanged}
    for name, function in functions.items():
        function()
        b.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = function()
        for _ in range(3):
            x.copy_(b.random(*x.shape))
            graph.replay()
            b.synchronize()
            b.check(f"{name} captured", y, function())
        del graph, y
    refused = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(refused):
            dt.all_reduce(x[:1], b.comm)
        b.wrong.append("the first call of a shape was captured")
    except duet.BadArgument as error:
        b.say(f"graphs: {len(functions)} functions captured; a first call is refused: {error}")


# ---- What it costs ------------------------------------------------------------------------------


def by_vendor(kind, out, x):
    """By NCCL, or by those of gloo's calls that all versions have."""
    nccl = dist.get_backend() == "nccl"
    if x.is_cuda and not nccl:  # gloo has not all of them on GPUs
        out.copy_(by_vendor(kind, torch.empty_like(out, device="cpu"), x.cpu()))
    elif kind == "all_to_all":
        dist.all_to_all_single(out, x)
    elif kind == "all_reduce":
        out.copy_(x)
        dist.all_reduce(out)
    elif kind == "all_gather" and nccl:
        dist.all_gather_into_tensor(out, x)
    elif kind == "all_gather":
        dist.all_gather(list(out.chunk(dist.get_world_size())), x)
    elif nccl:
        dist.reduce_scatter_tensor(out, x)
    else:
        whole = x.clone()
        dist.all_reduce(whole)
        out.copy_(whole.chunk(dist.get_world_size())[dist.get_rank()])
    return out


def collectives(b):
    size = b.comm.size
    if size == 1:
        return b.say("collectives: left out: one rank")
    b.say(f"collectives, us a call:{'bytes':>22}{'operator':>12}{'into':>12}{b.vendor:>12}")
    sizes = (4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20) if b.gpu else (4 << 10, 1 << 20)
    dtype, itemsize = b.dtype, torch.empty((), dtype=b.dtype).element_size()
    for kind in ("all_gather", "all_to_all", "reduce_scatter", "all_reduce"):
        for bytes_ in sizes:
            larger = bytes_ // itemsize // size * size
            count = larger // size if kind == "all_gather" else larger
            given = torch.randint(-8, 9, (count,), device=b.device).to(dtype)
            x, out = b.comm.empty(count, dtype), b.comm.empty(
                larger // size if kind == "reduce_scatter" else larger, dtype)
            x.copy_(given)
            expected = by_vendor(kind, torch.empty_like(out), given)
            function, into = getattr(dt, kind), getattr(b.comm, kind + "_into")
            into(out, x)
            b.check(f"{kind}_into", out, expected)
            b.check(kind, function(given, b.comm), expected)
            ours = [b.seconds(lambda: function(given, b.comm)), b.seconds(lambda: into(out, x))]
            vendor = b.seconds(lambda: by_vendor(kind, expected, given))
            b.say(f"  {kind:16}{bytes_:>27}" + "".join(f"{each * 1e6:12.1f}" for each in (*ours, vendor)))
            del x, out, given, expected
            b.comm.clear()


def calls(b):
    """Where calls return before the device is done, the CPU's time is theirs."""
    empty = torch.library.Library("duet_bench", "DEF")
    empty.define("nothing(Tensor x, str comm) -> Tensor")
    empty.impl("nothing", lambda x, comm: x, b.kind.upper())
    x, w = b.random(256 * b.comm.size, 64), b.random(64, 64)
    send, recv = b.comm.empty((16, 64), torch.bfloat16), b.comm.empty((16, 64), torch.bfloat16)
    send.zero_()
    tracked = send.clone().requires_grad_()
    shared = {"an operator that does nothing": lambda: torch.ops.duet_bench.nothing(send, "0"),
              "all_reduce": lambda: dt.all_reduce(send, b.comm),
              "all_reduce with gradients": lambda: dt.all_reduce(tracked, b.comm),
              "all_reduce_into": lambda: b.comm.all_reduce_into(recv, send),
              "all_gather_matmul": lambda: dt.all_gather_matmul(x, w, b.comm),
              "matmul_reduce_scatter": lambda: dt.matmul_reduce_scatter(x, w, b.comm),
              "all_reduce_rms_norm": lambda: dt.all_reduce_rms_norm(send, send, send[0], 1e-6, b.comm)}
    if not b.gpu:
        return calls_without_collectives(b, shared)
    member = b.comm._member
    memory = member.empty(1024, "bf16")
    call, stream = member.plan("all_reduce", memory, memory), torch.cuda.current_stream().cuda_stream
    tried = {**shared,
             "Call.enqueue": lambda: call.enqueue(stream),
             "x @ w": lambda: x @ w,
             "dist.all_reduce": lambda: dist.all_reduce(recv)}
    for name, function in tried.items():
        turns = []
        for _ in range(20):
            function()
            b.synchronize()
            dist.barrier()
            b.synchronize()
            begin = time.perf_counter()
            for _ in range(20):
                function()
            turns.append((time.perf_counter() - begin) / 20)
        b.say(f"calls: {name}: {statistics.median(turns) * 1e6:.1f} us of the CPU")
    b.synchronize()
    call.retire()
    memory.free()


def calls_without_collectives(b, tried):
    """Where a call ends when it is done: what PyTorch and the package take, the best of many turns."""
    for function in tried.values():
        function()
    with unittest.mock.patch.multiple(b.comm.calls, _enqueue=lambda *given: None,
                                      _enqueue_rows=lambda planned, multiply: None):
        for name, function in tried.items():
            best = min(timeit.repeat(function, number=200, repeat=200)) / 200
            b.say(f"calls: {name}: {best * 1e6:.1f} us of the CPU, but for the collective")


def until_killed(rank, ranks, port, device):
    """A process that makes calls until one is told that the last rank, which ends itself, is gone."""
    dist.init_process_group("gloo", rank=rank, world_size=ranks, init_method=f"tcp://127.0.0.1:{port}")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    comm = dt.Communicator(device=device, name="killed")
    x = torch.ones(4096, device=device)
    for turn in range(1_000_000):
        if rank == ranks - 1 and turn == 100:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            dt.all_reduce(x, comm)
            if device.type == "cuda":
                torch.cuda.synchronize()
        except duet.PeerFailed:
            os._exit(TOLD)


def killed(b):
    size = b.comm.size
    if size == 1:
        return b.say("killed: left out: one rank")
    if b.comm.rank == 0:
        start, port = torch.multiprocessing.get_context("spawn").Process, free_port()
        gpus = torch.cuda.device_count() if b.gpu else 0
        devices = [torch.device("cuda", rank % gpus) if gpus else torch.device("cpu") for rank in range(size)]
        begin = time.monotonic()
        all_of_them = [start(target=until_killed, args=(rank, size, port, devices[rank]))
                       for rank in range(size)]
        for each in all_of_them:
            each.start()
        for each in all_of_them:
            each.join(max(0, begin + 120 - time.monotonic()))
        codes = [each.exitcode for each in all_of_them]
        for each in all_of_them:
            each.kill()
        b.say(f"killed: exit codes {codes}, {time.monotonic() - begin:.1f} s with the start")
        if codes != [TOLD] * (size - 1) + [-signal.SIGKILL]:
            b.wrong.append(f"a rank was killed: exit codes {codes}")
    dist.barrier()


def held():
    """KiB resident, descriptors, and MiB of the GPU's memory."""
    with open("/proc/self/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    used = 0
    if torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        used = (total - free) >> 20
    return resident, len(os.listdir("/proc/self/fd")), used


def communicators(b):
    x = torch.ones(1024, device=b.device)
    before, count = None, b.arguments.communicators
    begin = time.monotonic()
    for turn in range(count + 10):
        if turn == 10:
            before, begin = held(), time.monotonic()
        with dt.Communicator(device=b.device, name="again") as comm:
            y = dt.all_reduce(x, comm)
        if turn % 100 == 0:
            b.check("all_reduce of a new communicator", y, b.comm.size * x)
    after = held()
    each = (time.monotonic() - begin) / count * 1e3
    b.say(f"communicators: {count} opened and closed, {each:.1f} ms each: KiB resident {before[0]} -> "
          f"{after[0]}, descriptors {before[1]} -> {after[1]}, MiB of the GPU {before[2]} -> {after[2]}")
    if after[1] > before[1]:
        b.wrong.append("descriptors are left")


# ---- The MLP ------------------------------------------------------------------------------------


class Mlp:
    """Tensors of one rank, and ways: gate and up of all rows, silu(gate) * up, down."""

    def __init__(self, b, comms, tokens, width, ffn):
        self.b, self.size, rank = b, b.comm.size, b.comm.rank
        own = ffn // self.size
        torch.manual_seed(1)
        x = b.random(tokens, width)
        torch.manual_seed(2 + rank)
        self.x, self.own = x, x.chunk(self.size)[rank].clone()
        self.up, self.down = b.random(2 * own, width).t(), b.random(width, own).t()
        self.gathered, self.y = torch.empty_like(x), torch.empty_like(x)
        self.hidden = torch.empty(tokens, 2 * own, dtype=x.dtype, device=b.device)
        self.mine = torch.empty_like(self.own)
        self.group = getattr(dist.group.WORLD, "group_name", None)
        self.ways = {"torch-none": self.alone, f"torch-{b.vendor.lower()}": self.by_vendor}
        if b.gpu:
            self.ways["torch-fused"] = self.fused
        self.buffers = {}
        for name, comm in comms.items():
            self.buffers[name] = (comm.empty(x.shape, x.dtype), comm.empty(x.shape, x.dtype),
                                  comm.empty(self.own.shape, x.dtype))
            self.ways[f"duet-torch {name}"] = lambda comm=comm: self.by_duet(comm)
            self.ways[f"duet-torch-into {name}"] = lambda name=name, comm=comm: self.into(name, comm)

    def act(self, y):
        gate, up = y.chunk(2, 1)
        return torch.nn.functional.silu(gate) * up

    def alone(self):
        torch.mm(self.x, self.up, out=self.hidden)
        return torch.mm(self.act(self.hidden), self.down, out=self.y)

    def by_vendor(self):
        by_vendor("all_gather", self.gathered, self.own)
        torch.mm(self.gathered, self.up, out=self.hidden)
        torch.mm(self.act(self.hidden), self.down, out=self.y)
        return by_vendor("reduce_scatter", self.mine, self.y)

    def fused(self):
        ops = torch.ops.symm_mem
        y = ops.fused_all_gather_matmul(self.own, [self.up], gather_dim=0, group_name=self.group)[1][0]
        return ops.fused_matmul_reduce_scatter(self.act(y), self.down, "sum", scatter_dim=0,
                                               group_name=self.group)

    def by_duet(self, comm):
        y = dt.all_gather_matmul(self.own, self.up, comm)
        return dt.matmul_reduce_scatter(self.act(y), self.down, comm)

    def into(self, name, comm):
        """The rows were written where they are sent from, as an operator before would do."""
        rows, partial, out = self.buffers[name]
        comm.all_gather_matmul_into(self.hidden, rows, self.up)
        comm.matmul_reduce_scatter_into(out, partial, self.act(self.hidden), self.down)
        return out

    def check(self):
        for name, (rows, _, _) in self.buffers.items():
            rows.chunk(self.size)[self.b.comm.rank].copy_(self.own)
        expected = self.by_vendor().clone()
        for name, way in self.ways.items():
            if name != "torch-none":
                self.b.check(f"mlp {name}", way(), expected)


def mlp(b):
    if b.comm.size == 1:
        return b.say("mlp: left out: one rank")
    from torch_training.journal import Journal, Place, environment_record
    if b.gpu:
        from torch.distributed._symmetric_memory import enable_symm_mem_for_group
        enable_symm_mem_for_group(dist.group.WORLD.group_name)
    place = Place(b.kind, torch.device(b.kind, 0), b.comm.size)
    journal = Journal(b.arguments.json if b.comm.rank == 0 else None)
    journal.write(environment_record(place))
    width, _, _, ffn = layers.MODELS["llama70b"] if b.gpu else (128, 0, 0, 512)
    comms = {name: dt.Communicator(device=b.device, name=f"mlp {name}", **how) for name, how in WAYS.items()}
    for tokens in map(int, b.arguments.tokens.split(",")):
        one = Mlp(b, comms, tokens, width, ffn)
        one.check()
        ways = dict(one.ways)
        if b.gpu:
            ways.update({f"{name} captured": layers.captured(torch, way) for name, way in one.ways.items()})
        samples = layers.by_turns(torch, dist, ways, b.arguments.seconds, b.kind)
        tell(b, journal, place, samples, tokens, width, ffn)
        del one, ways
        for comm in comms.values():
            comm.clear()
    for comm in comms.values():
        comm.close()


def tell(b, journal, place, samples, tokens, width, ffn):
    """A table's rows and a journal's records: us a call, and what is added to the GEMMs alone in %."""
    case = {"layer": "mlp", "part": "llama70b" if b.gpu else "small", "m": tokens, "n": 2 * ffn, "k": width,
            "dtype": "bf16" if b.gpu else "fp32", "ranks": b.comm.size}
    flop = 6.0 * tokens * width * ffn
    for way, each in samples.items():
        graph = way.endswith(" captured")
        engine, *how = way.split()[:-1] if graph else way.split()
        alone = statistics.median(samples["torch-none captured" if graph else "torch-none"])
        axes = dict(zip(("ranges", "sums", "streams"), how))
        axes = {name: text if name == "sums" else int(text) for name, text in axes.items()}
        full = {**case, **axes, **({"graph_launches": 1} if graph else {})}
        journal.write(layers.record_of(place, engine, full, each, alone, flop))
        seconds = statistics.median(each)
        b.say(f"mlp {tokens} rows: {way:42}{seconds * 1e6:10.1f} us{100 * (seconds / alone - 1):+8.1f} %")


# ---- Processes ----------------------------------------------------------------------------------


def one_rank(rank, arguments, port):
    gpus = torch.cuda.device_count() if arguments.device == "cuda" else 0
    device = torch.device("cuda", rank % gpus) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    backend = {"backend": "nccl", "device_id": device} if gpus >= arguments.ranks else {"backend": "gloo"}
    dist.init_process_group(rank=rank, world_size=arguments.ranks, init_method=f"tcp://127.0.0.1:{port}",
                            **backend)
    wrong = []
    with dt.Communicator(device=device, name="bench") as comm:
        b = Bench(arguments, comm)
        model = comm._member.model
        b.say(f"{comm.size} x {model}, PyTorch {torch.__version__}, Duet {duet.version()}")
        for part in arguments.parts.split(","):
            globals()[part](b)
            b.synchronize()
            comm.clear()
        wrong = b.wrong
    dist.destroy_process_group()
    if wrong:
        sys.exit(1)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"),
                        default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--ranks", type=int, help="processes; default: all GPUs, or two on the CPU")
    parser.add_argument("--parts", default=",".join(PARTS), help="some of them, separated by commas")
    parser.add_argument("--tokens", help="rows of the MLP, separated by commas")
    parser.add_argument("--communicators", type=int, default=1000, help="to open and close")
    parser.add_argument("--seconds", type=float, default=0.3, help="of measuring each way")
    parser.add_argument("--json", help="journal to append the MLP's times to")
    arguments = parser.parse_args()
    for part in arguments.parts.split(","):
        if part not in PARTS:
            parser.error(f"part {part!r}: expected {', '.join(PARTS)}")
    gpu = arguments.device == "cuda"
    arguments.ranks = arguments.ranks or (torch.cuda.device_count() if gpu else 2)
    arguments.tokens = arguments.tokens or ("2048,4096,8192" if gpu else "128")
    try:
        torch.multiprocessing.spawn(one_rank, (arguments, free_port()), arguments.ranks)
    except torch.multiprocessing.ProcessExitedException:
        print("something is WRONG")
        sys.exit(1)
    print("all is right")


if __name__ == "__main__":
    main()
