"""A communicator of a process group's ranks, and all that are open."""
import torch

from ..communicator import OPS, SUMS
from ..errors import BadArgument
from .bootstrap import Members, group_named, open_communicator
from .calls import Calls

_open = {}  # by name, which is what an operator of PyTorch can be given


class Communicator:
    """The ranks of a process group of torch.distributed, one in each process.

    Opening, empty(), clear() and close() are collective over the group, and so is the first call of
    each operator, type and shape: all ranks make the same calls in the same order. `rank` of `size`,
    `device`, `name`.

    `group`: None for the default group; ranks that are not in it open nothing. `device`: None for
    PyTorch's current GPU, or the CPU where the group is of gloo or there is no GPU. `engine`: as for
    duet.Communicator. `name`: by which operators find it; None for the group's. `deadline`: seconds
    for opening, and on CPUs for each call. `ranges`, `streams`, `sums`: how rows are multiplied
    within collectives (duet.Rank.plan()).

    Operators (duet.torch.all_gather() ...) copy what they are given into buffers of their own, one set
    for each operator, type and shape, which stay until clear() or close(). Functions `..._into` work
    on tensors of empty(), and copy nothing.
    """

    def __init__(self, group=None, device=None, engine="auto", *, name=None, deadline=60.0, ranges=1,
                 streams=1, sums="by_compute"):
        members = Members(group)
        self.name, self.device = name or members.name, _device_of(members.group, device)
        if sums not in SUMS:
            raise BadArgument(f"sums {sums!r}: expected {', '.join(SUMS)}")
        if self.name in _open:
            raise BadArgument(f"a communicator {self.name!r} is open: close it, or give another name=")
        self._comm = open_communicator(members, self.device, engine, deadline)
        self._member = self._comm.rank()
        self.rank, self.size = self._member.index, self._member.size
        self.calls = Calls(self._member, self.device, float(deadline),
                           {"ranges": ranges, "streams": streams, "sums": sums})
        _open[self.name] = self

    def all_gather_into(self, out, x):
        """Both are of empty(), or views; x may be this rank's part of out."""
        self.calls.move_into("all_gather", out, x)

    def reduce_scatter_into(self, out, x, op="sum"):
        """Both are of empty(), or views; out may be this rank's part of x."""
        check_op(op)
        self.calls.move_into("reduce_scatter", out, x, op)

    def all_reduce_into(self, out, x, op="sum"):
        """Both are of empty(), or views; out may be x."""
        check_op(op)
        self.calls.move_into("all_reduce", out, x, op)

    def all_reduce_rms_norm_into(self, out, updated, x, residual, weight, eps):
        """updated = residual + the sum over ranks of x, and out its RMSNorm by rows. x and out are of
        empty(), or views; out may be x, and updated residual. The others are any contiguous tensors,
        which stay in use until clear()."""
        self.calls.sum_and_normalise_into(out, updated, x, residual, weight, eps)

    def all_to_all_into(self, out, x):
        """Both are of empty(), or views, that do not overlap."""
        self.calls.move_into("all_to_all", out, x)

    def all_gather_matmul_into(self, out, rows, weight):
        """out (size * m, n) = rows @ weight. `rows` (size * m, k) is of empty(); each rank has written
        its m rows there, and has those of all ranks afterwards."""
        self.calls.gather_and_multiply_into(out, rows, weight)

    def matmul_reduce_scatter_into(self, out, partial, x, weight):
        """out (m / size, n) = this rank's rows of the sum over ranks of x (m, k) @ weight. out and
        partial (m, n), whose contents are lost, are of empty()."""
        self.calls.multiply_and_sum_into("reduce_scatter", out, partial, x, weight)

    def matmul_all_reduce_into(self, out, partial, x, weight):
        """out (m, n) = the sum over ranks of x (m, k) @ weight. out and partial (m, n), whose contents
        are lost, are of empty()."""
        self.calls.multiply_and_sum_into("all_reduce", out, partial, x, weight)

    def empty(self, shape, dtype=torch.float32):
        """Collective: a tensor in memory of Duet's, uninitialised, for `..._into`. The memory lives as
        long as the tensor, its views, and calls that were made with them (until clear())."""
        return self.calls.empty(torch.Size((shape,) if isinstance(shape, int) else shape), dtype)

    def barrier(self, what="the other ranks", seconds=60.0):
        """Collective, and waits on the CPU: `what` ends the sentence "waiting for ..." of errors."""
        self._member.barrier(what, seconds)

    def failure(self):
        """Why results of calls that are under way may be wrong; "" if all is well."""
        return self._comm.failure()

    def clear(self):
        """Collective: waits for the device, and frees the buffers of operators and all plans. Graphs
        that were captured with them must not be launched any more."""
        self.calls.clear()

    def close(self):
        """Collective. BadArgument, and it stays open, while tensors of empty() exist."""
        if self._comm._handle:
            self.calls.close()
            self._comm.close()
            _open.pop(self.name, None)

    def abandon(self):
        """Not collective, for who ends without the others: to them this process is gone. Tensors of
        empty() stay valid, as memory alone."""
        self._comm.abandon()
        if _open.get(self.name) is self:
            del _open[self.name]

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        try:
            if kind is None:
                self.close()
        finally:
            self.abandon()

    def __reduce__(self):
        raise BadArgument("a communicator cannot be pickled: open one in each process")


def named(name, device):
    """The open communicator of that name. For the name of a process group without one it is opened,
    which is collective."""
    found = _open.get(name)
    if found is not None:
        return found
    group = group_named(name)
    if group is None:
        names = ", ".join(map(repr, _open)) or "one that is open"
        raise BadArgument(f"communicator {name!r}: expected {names}, or the name of a process group")
    return Communicator(group, device)


def calls_of(name, x):
    """Those of named(), for a tensor."""
    found = _open.get(name)
    return (named(name, x.device) if found is None else found).calls


def size_of(name):
    """The ranks of what named() gives, without opening it."""
    found = _open.get(name)
    return len(Members(group_named(name)).ranks) if found is None else found.size


def check_op(op):
    if op not in OPS:
        raise BadArgument(f"op {op!r}: expected {', '.join(OPS)}")


def _device_of(group, device):
    if device is None:
        backend = str(torch.distributed.get_backend(group))
        device = "cuda" if torch.cuda.is_available() and backend not in ("gloo", "mpi") else "cpu"
    device = torch.device(device)
    if device.type == "cpu":
        return torch.device("cpu")
    if device.type != "cuda":
        raise BadArgument(f"device {device}: expected cpu or cuda")
    return torch.device("cuda", torch.cuda.current_device() if device.index is None else device.index)
