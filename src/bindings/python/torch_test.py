"""Tests of `duet.torch` on CPUs: processes of one gloo group compare it with gloo and torch.matmul.
DUET_LIBRARY names the build's library, the working directory is the source tree.

    torch_test.py                    all
    torch_test.py RANK SIZE FOLDER   one rank of the checks, as the tests start them
"""
import contextlib
import gc
import os
import pickle
import re
import socket
import subprocess
import sys
import tempfile
import time
import types
import unittest
import warnings
from datetime import timedelta
from unittest import mock

import torch
import torch.distributed as dist

import duet
import duet.torch as dt
from duet.torch import calls

FLOATS = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}  # tolerated, of the largest
MOVED = (*FLOATS, torch.int8, torch.uint8, torch.int32, torch.int64, torch.float64, torch.bool)
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])


class Ranks:
    """What a check is given: communicator, rank, size, and tensors that all ranks can make."""

    def __init__(self, comm):
        self.comm, self.rank, self.size = comm, comm.rank, comm.size

    def of(self, rank, *shape, dtype=torch.float32, seed=0):
        """Small whole numbers of a rank, whose sums are exact."""
        made = torch.Generator().manual_seed(1000 * seed + rank)
        return torch.randint(-4, 5, shape, generator=made).to(dtype)

    def own(self, *shape, **how):
        return self.of(self.rank, *shape, **how)

    def all(self, *shape, **how):
        return [self.of(rank, *shape, **how) for rank in range(self.size)]


def equal(found, expected):
    assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert torch.equal(found, expected), (found, expected)


def near(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape, (found, expected)
    apart = (found.double() - expected.double()).abs().max()
    assert apart <= FLOATS[found.dtype] * max(1, expected.double().abs().max()), (found, expected)


def refuses(kind, line, function):
    try:
        function()
    except kind as error:
        assert re.search(line, str(error)) and "\n" not in str(error), str(error)
    else:
        raise AssertionError(f"expected {kind.__name__}: {line}")


# ---- Checks, each made by all ranks of a group --------------------------------------------------


def moves(r):
    for dtype in MOVED:
        for shape in ((6 * r.size,), (2 * r.size, 3, 5)):
            x = r.own(*shape, dtype=dtype)
            expected = torch.cat(r.all(*shape, dtype=dtype))
            if dtype not in (torch.bfloat16, torch.bool):  # which gloo has not
                gathered = [torch.empty_like(x) for _ in range(r.size)]
                dist.all_gather(gathered, x)
                equal(torch.cat(gathered), expected)
            equal(dt.all_gather(x, r.comm), expected)
            part = shape[0] // r.size
            expected = torch.cat([each[r.rank * part:(r.rank + 1) * part]
                                  for each in r.all(*shape, dtype=dtype)])
            equal(dt.all_to_all(x, r.comm), expected)
    x = r.own(5, 4).t()
    equal(dt.all_gather(x, r.comm), torch.cat([each.t() for each in r.all(5, 4)]))
    equal(dt.all_gather(x[:0], r.comm), torch.empty(0, 5))


def sums(r):
    folds = {"sum": lambda a: a.sum(0), "avg": lambda a: a.mean(0), "max": lambda a: a.amax(0),
             "min": lambda a: a.amin(0)}
    for dtype in (*FLOATS, torch.int32):
        for op, fold in folds.items():
            if dtype == torch.int32 and op == "avg":
                continue
            every = torch.stack(r.all(2 * r.size, 7, dtype=dtype)).double()
            expected = fold(every).to(dtype)
            x = r.own(2 * r.size, 7, dtype=dtype)
            found = dt.all_reduce(x, r.comm, op)
            equal(found, expected) if op != "avg" else near(found, expected)
            found = dt.reduce_scatter(x, r.comm, op)
            expected = expected[2 * r.rank:2 * r.rank + 2]
            equal(found, expected) if op != "avg" else near(found, expected)
    x = r.own(4 * r.size)
    by_gloo = x.clone()
    dist.all_reduce(by_gloo)
    equal(dt.all_reduce(x, r.comm), by_gloo)
    equal(dt.all_reduce(torch.tensor(r.rank + 1.0), r.comm), torch.tensor(r.size * (r.size + 1) / 2))


def products(r):
    for dtype in (torch.float32, torch.bfloat16):
        weights = [r.of(90, 6, 4, dtype=dtype), r.of(91, 9, 6, dtype=dtype).t()]
        for shape in ((2 * r.size, 6), (2 * r.size, 3, 6)):
            x, every = r.own(*shape, dtype=dtype), r.all(*shape, dtype=dtype)
            rows = torch.cat(every)
            near(dt.all_gather_matmul(x, weights[0], r.comm), rows @ weights[0])
            found, gathered = dt.all_gather_matmul(x, weights, r.comm, return_rows=True)
            equal(gathered, rows)
            for each, weight in zip(found, weights):
                near(each, rows @ weight)
            whole = sum(each @ weights[1] for each in every)
            near(dt.matmul_all_reduce(x, weights[1], r.comm), whole)
            near(dt.matmul_reduce_scatter(x, weights[1], r.comm), whole[2 * r.rank:2 * r.rank + 2])


def gradients(r):
    """Those of the sum of all ranks' losses, which each rank can compute from all ranks' tensors."""
    n = r.size

    def gather(xs):
        return [torch.cat(xs)] * n

    def total(xs):
        return [sum(xs)] * n

    def scatter(xs):
        return list(sum(xs).chunk(n))

    def exchange(xs):
        return [torch.cat([x.chunk(n)[to] for x in xs]) for to in range(n)]

    def multiply(xs, ws):
        return [x @ w for x, w in zip(xs, ws)]

    one = ((lambda x, w: dt.all_gather(x, r.comm), lambda xs, ws: gather(xs)),
           (lambda x, w: dt.all_reduce(x, r.comm), lambda xs, ws: total(xs)),
           (lambda x, w: dt.all_reduce(x, r.comm, "avg"), lambda xs, ws: [x / n for x in total(xs)]),
           (lambda x, w: dt.reduce_scatter(x, r.comm), lambda xs, ws: scatter(xs)),
           (lambda x, w: dt.reduce_scatter(x, r.comm, "avg"), lambda xs, ws: [x / n for x in scatter(xs)]),
           (lambda x, w: dt.all_to_all(x, r.comm), lambda xs, ws: exchange(xs)),
           (lambda x, w: dt.all_gather_matmul(x, w, r.comm), lambda xs, ws: multiply(gather(xs), ws)),
           (lambda x, w: sum(dt.all_gather_matmul(x, [w, 2 * w], r.comm)),
            lambda xs, ws: [3 * y for y in multiply(gather(xs), ws)]),
           (lambda x, w: dt.all_gather_matmul(x, w, r.comm, return_rows=True)[1].pow(2),
            lambda xs, ws: [x.pow(2) for x in gather(xs)]),
           (lambda x, w: dt.matmul_reduce_scatter(x, w, r.comm), lambda xs, ws: scatter(multiply(xs, ws))),
           (lambda x, w: dt.matmul_all_reduce(x, w, r.comm), lambda xs, ws: total(multiply(xs, ws))))
    for shape in ((2 * n, 5), (2 * n, 3, 5)):
        for number, (function, reference) in enumerate(one):
            xs = [x.requires_grad_() for x in r.all(*shape, seed=number)]
            ws = [w.requires_grad_() for w in r.all(5, 4, seed=number + 100)]
            losses = [(y * y).sum() * (rank + 1) for rank, y in enumerate(reference(xs, ws))]
            sum(losses).backward()
            x, w = (t.detach().clone().requires_grad_() for t in (xs[r.rank], ws[r.rank]))
            y = function(x, w)
            ((y * y).sum() * (r.rank + 1)).backward()
            near(x.grad, xs[r.rank].grad)
            if ws[r.rank].grad is not None:
                near(w.grad if w.grad is not None else torch.zeros_like(w), ws[r.rank].grad)


def second_derivatives(r):
    x = r.own(2 * r.size, 3).requires_grad_()
    y = dt.all_reduce(x, r.comm)
    (once,) = torch.autograd.grad((y ** 3).sum(), x, create_graph=True)
    once.sum().backward()
    total = sum(r.all(2 * r.size, 3))
    near(once.detach(), 3 * r.size * total ** 2)
    near(x.grad, 6 * r.size ** 2 * total)


def experts(r):
    """Tokens, as many as `counts` of each rank, at experts that square a product, with their gradients."""
    n, hidden, chosen = r.size, 8, 2
    tables = [r.of(rank, hidden, hidden, seed=7).requires_grad_() for rank in range(2 * n)]
    for counts in ([4] * n, [3, 0, 2][:n], [0, 1, 4][-n:]):
        xs, weights, chosen_by = [], [], []
        for rank, count in enumerate(counts):
            made = torch.Generator().manual_seed(rank + sum(counts))
            xs.append(torch.randn(count, hidden, generator=made).requires_grad_())
            weights.append(torch.rand(count, chosen, generator=made).requires_grad_())
            chosen_by.append(torch.rand(count, 2 * n, generator=made).topk(chosen).indices)
            chosen_by[-1][:1, 0] = -1  # of the first token one expert alone
        whole = []
        for x, weight, choices in zip(xs, weights, chosen_by):
            rows = [sum((w * (row @ tables[e]) ** 2 for w, e in zip(of, on.tolist()) if e >= 0),
                        torch.zeros(hidden)) for row, of, on in zip(x, weight, choices)]
            whole.append(torch.stack(rows) if rows else torch.zeros(0, hidden))
        for table in tables:
            table.grad = None
        sum((y * y).sum() * (rank + 1) for rank, y in enumerate(whole)).backward()

        x, weight = (t[r.rank].detach().clone().requires_grad_() for t in (xs, weights))
        own = [table.detach().clone().requires_grad_() for table in tables]
        there = dt.dispatch_tokens(x, chosen_by[r.rank], weight, 2 * n, r.comm, tokens=4)
        assert (there.first_expert, there.own_experts) == (2 * r.rank, 2)
        begins = there.offsets.tolist()
        made = [(there.rows[begins[e]:begins[e + 1]] @ own[there.first_expert + e]) ** 2 for e in range(2)]
        y = dt.combine_tokens(torch.cat([*made, there.rows[begins[2]:]]), there)
        near(y.detach(), whole[r.rank].detach()) if len(y) else equal(y.detach(), whole[r.rank].detach())
        ((y * y).sum() * (r.rank + 1)).backward()
        if len(x):
            near(x.grad, xs[r.rank].grad)
            near(weight.grad, weights[r.rank].grad)
        for e in (2 * r.rank, 2 * r.rank + 1):
            expected = torch.zeros(hidden, hidden) if tables[e].grad is None else tables[e].grad
            near(own[e].grad, expected)
    for line, call in (("expected tokens=2 at most", lambda: dt.dispatch_tokens(
                            torch.ones(3, hidden), torch.zeros(3, 1), torch.ones(3, 1), n, r.comm, tokens=2)),
                       (f"expected a multiple of {n}", lambda: dt.dispatch_tokens(
                            torch.ones(3, hidden), torch.zeros(3, 1), torch.ones(3, 1), 0, r.comm)),
                       ("expected a matrix", lambda: dt.dispatch_tokens(
                            torch.ones(3, hidden).half(), torch.zeros(3, 1), torch.ones(3, 1), n, r.comm))):
        refuses(duet.BadArgument, line, call)


def rms_norm(x, residual, weight, eps):
    """What all_reduce_rms_norm does with a sum x, in the type of x."""
    updated = residual + x
    return updated * torch.rsqrt(updated.pow(2).mean(-1, keepdim=True) + eps) * weight, updated


def norms(r):
    for dtype in FLOATS:
        for shape in ((16,), (3, 16), (2, 3, 64)):
            made = []
            for seed in range(2):  # planned, and again
                x, weight = r.own(*shape, dtype=dtype, seed=seed), r.of(90, shape[-1], dtype=dtype)
                residual = r.of(91, *shape, dtype=dtype, seed=seed)
                total = sum(r.all(*shape, dtype=torch.float64, seed=seed))
                expected = rms_norm(total, residual.double(), weight.double(), 0.1)
                found = dt.all_reduce_rms_norm(x, residual, weight, 0.1, r.comm)
                made += zip(found, (value.to(dtype) for value in expected))
                equal(residual, r.of(91, *shape, dtype=dtype, seed=seed))
            for found, value in made:  # the first call's are still as they were
                near(found, value)
    x, residual, weight = r.own(16, 4).t(), r.of(91, 16, 4).t(), r.of(90, 32)[::2]  # any strides
    expected = rms_norm(sum(r.all(16, 4)).t(), residual, weight, 0.1)
    for found, value in zip(dt.all_reduce_rms_norm(x, residual, weight, 0.1, r.comm), expected):
        near(found, value)
    for found in dt.all_reduce_rms_norm(torch.ones(0, 16), torch.ones(0, 16), torch.ones(16), 0.1, r.comm):
        equal(found, torch.ones(0, 16))


def gradients_of_norms(r):
    """As gradients(), also of the gradients, and where one of both results alone is used."""
    n = r.size
    for seed, (of_normed, of_updated) in enumerate(((1, 1), (1, 0), (0, 1))):
        def loss(normed, updated, rank):
            return ((of_normed * normed).pow(3) + (of_updated * updated).pow(2)).sum() * (rank + 1)

        def twice(losses, leaves):
            """Gradients of a loss, and those of their squares."""
            once = torch.autograd.grad(sum(losses), leaves, create_graph=True, allow_unused=True)
            once = [torch.zeros_like(leaf) if grad is None else grad for grad, leaf in zip(once, leaves)]
            if any(grad.requires_grad for grad in once):
                sum(grad.pow(2).sum() for grad in once).backward()
            return once, [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves]

        every = [(r.of(k, 3, 8, seed=seed), r.of(k, 3, 8, seed=seed + 10), r.of(k, 8, seed=seed + 20))
                 for k in range(n)]
        leaves = [leaf.requires_grad_() for rank in every for leaf in rank]
        own = [leaf.detach().clone().requires_grad_() for leaf in every[r.rank]]
        total = sum(x for x, _, _ in every)
        expected = twice([loss(*rms_norm(total, *rest, 0.1), k) for k, (_, *rest) in enumerate(every)], leaves)
        found = twice([loss(*dt.all_reduce_rms_norm(*own, 0.1, r.comm), r.rank)], own)
        for ours, all_of_them in zip(found, expected):
            for grad, value in zip(ours, all_of_them[3 * r.rank:3 * r.rank + 3]):
                near(grad.detach(), value.detach())
    weight = torch.ones(8, requires_grad=True)  # of one input alone
    dt.all_reduce_rms_norm(torch.ones(2, 8), torch.ones(2, 8), weight, 0.0, r.comm)[0].sum().backward()
    near(weight.grad, torch.full((8,), 2.0))


def buffers_of_norms(r):
    x, out = r.comm.empty((3, 16)), r.comm.empty((3, 16))
    residual, updated, weight = r.of(91, 3, 16), torch.empty(3, 16), r.of(90, 16).requires_grad_()
    for seed in range(3):
        x.copy_(r.own(3, 16, seed=seed))
        total = sum(r.all(3, 16, seed=seed))
        expected = rms_norm(total, residual, weight.detach(), 0.1)
        r.comm.all_reduce_rms_norm_into(out, updated, x, residual, weight, 0.1)
        for found, value in zip((out, updated), expected):
            near(found.clone(), value)
        r.comm.all_reduce_rms_norm_into(x, residual, x, residual, weight, 0.1)  # in place
        for found, value in zip((x, residual), expected):
            near(found.clone(), value)


def buffers(r):
    n = r.size
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        out, x = r.comm.empty((2 * n, 3), dtype), r.comm.empty((2, 3), dtype)
        expected = torch.cat(r.all(2, 3, dtype=dtype))
        for _ in range(3):
            x.copy_(r.own(2, 3, dtype=dtype))
            out.zero_()
            r.comm.all_gather_into(out, x)
            equal(out.clone(), expected)
        own = out[2 * r.rank:2 * r.rank + 2]  # in place
        out.zero_()
        own.copy_(x)
        r.comm.all_gather_into(out, own)
        equal(out.clone(), expected)
    x, out, part = r.comm.empty(4 * n), r.comm.empty((4 * n,)), r.comm.empty(4)
    x.copy_(r.own(4 * n))
    total = sum(r.all(4 * n))
    r.comm.all_reduce_into(out, x)
    equal(out.clone(), total)
    r.comm.reduce_scatter_into(part, x)
    equal(part.clone(), total[4 * r.rank:4 * r.rank + 4])
    r.comm.all_to_all_into(out, x)
    equal(out.clone(), torch.cat([each.chunk(n)[r.rank] for each in r.all(4 * n)]))
    r.comm.all_reduce_into(x, x, "max")
    equal(x.clone(), torch.stack(r.all(4 * n)).amax(0))


def buffers_of_products(r):
    n = r.size
    rows, y = r.comm.empty((2 * n, 6)), torch.empty(2 * n, 4)
    weight = r.of(90, 6, 4).requires_grad_()
    partial, part, whole = (r.comm.empty((count, 4)) for count in (2 * n, 2, 2 * n))
    for seed in range(3):
        rows[2 * r.rank:2 * r.rank + 2] = r.own(2, 6, seed=seed)
        r.comm.all_gather_matmul_into(y, rows, weight)
        near(y, torch.cat(r.all(2, 6, seed=seed)) @ weight.detach())
        x = r.own(2 * n, 6, seed=seed)
        total = sum(each @ weight.detach() for each in r.all(2 * n, 6, seed=seed))
        r.comm.matmul_reduce_scatter_into(part, partial, x, weight)
        near(part.clone(), total[2 * r.rank:2 * r.rank + 2])
        r.comm.matmul_all_reduce_into(whole, partial, x, weight)
        near(whole.clone(), total)


def tensors_keep_their_memory(r):
    gc.collect()
    before = len(r.comm.calls._buffers)
    x = r.comm.empty((4, 4))
    view = x.t()[1]
    address = x.data_ptr()
    del x
    assert len(r.comm.calls._buffers) == before + 1
    view.fill_(3)
    equal(view.clone(), torch.full((4,), 3.0))
    assert address != 0
    refuses(duet.BadArgument, "1 tensors of empty", r.comm.close)
    equal(dt.all_reduce(torch.ones(2), r.comm), torch.full((2,), float(r.size)))  # it is open
    del view
    assert len(r.comm.calls._buffers) == before + 2  # those of the all_reduce
    r.comm.clear()
    assert len(r.comm.calls._buffers) == 0 and not r.comm.calls._released
    equal(dt.all_reduce(torch.ones(2), r.comm), torch.full((2,), float(r.size)))
    equal(r.comm.empty(0), torch.empty(0))
    cycle = [r.comm.empty(4)]
    cycle.append(cycle)  # close() finds it


def many_calls(r):
    for turn in range(100):
        x = r.own(4 * r.size, seed=turn)
        equal(dt.all_reduce(x, r.comm), sum(r.all(4 * r.size, seed=turn)))
        equal(dt.all_gather(x, r.comm), torch.cat(r.all(4 * r.size, seed=turn)))
        if turn % 10 == 0:
            r.comm.clear()


def errors(r):
    BadArgument, x = duet.BadArgument, torch.ones(2 * r.size, 3)
    refuses(BadArgument, "float64: expected torch.float32", lambda: dt.all_reduce(x.double(), r.comm))
    if r.size > 1:
        refuses(BadArgument, f"expected a multiple of {r.size}",
                lambda: dt.reduce_scatter(torch.ones(2 * r.size + 1), r.comm))
    refuses(BadArgument, "a number", lambda: dt.all_gather(torch.tensor(1.0), r.comm))
    refuses(BadArgument, "op 'mul': expected sum", lambda: dt.all_reduce(x, r.comm, "mul"))
    refuses(BadArgument, "needs gradients", lambda: dt.all_reduce(x.clone().requires_grad_(), r.comm, "max"))
    refuses(BadArgument, "meta: expected one on cpu", lambda: r.comm.calls.move("all_gather", x.to("meta")))
    refuses(BadArgument, r"\(4, 5\): expected \(\.\.\., k\)",
            lambda: dt.all_gather_matmul(x, torch.ones(4, 5), r.comm))
    refuses(BadArgument, "float16: expected one type",
            lambda: dt.matmul_all_reduce(x, torch.ones(3, 1).half(), r.comm))
    rows, row = torch.ones(3, 16), torch.ones(16)
    for given, said in (((rows.int(), rows, row, 0.1), "int32: expected torch.float32"),
                        ((rows, rows[:2], row, 0.1), r"a residual \(2, 16\) and a weight \(16,\) of x \(3, 16\)"),
                        ((rows, rows, row[:8], 0.1), r"a weight \(8,\)"),
                        ((rows, rows.half(), row, 0.1), "float16 .*: expected one type"),
                        ((rows, rows, row, -1.0), "eps -1.0: expected 0 or more"),
                        ((rows.to("meta"), rows, row, 0.1), "meta: expected one on cpu"),
                        ((rows[:, :3], rows[:, :3], row[:3], 0.1), "multiple of 8 bytes")):
        refuses(BadArgument, said, lambda: r.comm.calls.sum_and_normalise(*given))
    refuses(BadArgument, "x: expected a tensor of this communicator's empty",
            lambda: r.comm.all_reduce_rms_norm_into(r.comm.empty((3, 16)), rows, rows, rows, row, 0.1))
    refuses(BadArgument, "communicator 'no': expected", lambda: dt.all_gather(x, "no"))
    refuses(BadArgument, "is open: close it", lambda: dt.Communicator(name=r.comm.name))
    refuses(BadArgument, "pickled", lambda: pickle.dumps(r.comm))
    refuses(BadArgument, "expected cpu or cuda", lambda: dt.Communicator(device="meta", name="other"))
    refuses(BadArgument, "without this process", lambda: dt.Communicator(object()))
    refuses(BadArgument, "sums 'no'", lambda: dt.Communicator(sums="no", name="other"))
    own, into = r.comm.empty((r.size, r.size)), r.comm.all_reduce_into
    refuses(BadArgument, "expected a tensor of this communicator's empty",
            lambda: into(own, torch.ones(r.size, r.size)))
    refuses(BadArgument, r"expected \(.*\) of torch.float32", lambda: into(own, torch.ones(3)))
    if r.size > 1:
        refuses(BadArgument, "not contiguous", lambda: into(own, own.t()))
        # One rank's shape differs: all are told, and go on.
        refuses(BadArgument, ".", lambda: dt.all_reduce(torch.ones(3 + (r.rank == 0)), r.comm))
    equal(dt.all_reduce(x, r.comm), r.size * x)


def a_forked_child_is_refused(r):
    x = torch.ones(2)
    dt.all_reduce(x, r.comm)
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (lambda: dt.all_reduce(x, r.comm), lambda: r.comm.empty(2), r.comm.clear):
            try:
                use()
            except duet.BadArgument as error:
                refused += "spawn" in str(error)
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    equal(dt.all_reduce(x, r.comm), r.size * x)


def symmetric_memory(r):
    """The drop-in for torch.ops.symm_mem's fused operators; a communicator of the group opens."""
    group = dist.new_group(list(range(r.size)))
    name = dt.bootstrap.Members(group).name
    B, C = r.of(90, 6, 4), r.of(91, 6, 3)
    n = r.size
    for dim in (0, 1, 2):
        A, every = r.own(2 * n, 4 * n, 6), r.all(2 * n, 4 * n, 6)
        if dim < 2:
            whole = torch.cat(every, dim)
            gathered, found = dt.fused_all_gather_matmul(A, [B, C], dim, name)
            equal(gathered, whole)
            near(found[0], whole @ B)
            near(found[1], whole @ C)
            nothing, found = dt.fused_all_gather_matmul(A, [B], dim, name, return_A=False)
            assert nothing is None
            near(found[0], whole @ B)
        else:
            whole, D = torch.cat(every, 2), r.of(92, 6 * n, 2)
            gathered, found = dt.fused_all_gather_matmul(A, [D], dim, group_name=name)
            equal(gathered, whole)
            near(found[0], whole @ D)
        E = r.of(93, 6, 4 * n)
        total = sum(each @ E for each in every)
        near(dt.fused_matmul_reduce_scatter(A, E, "sum", dim, name), total.chunk(n, dim)[r.rank])
        near(dt.fused_matmul_reduce_scatter(A, E, "avg", scatter_dim=dim, group_name=name),
             total.chunk(n, dim)[r.rank] / n)
    refuses(duet.BadArgument, "gather_dim -1", lambda: dt.fused_all_gather_matmul(A, [B], -1, name))
    refuses(duet.BadArgument, "reduce_op", lambda: dt.fused_matmul_reduce_scatter(A, B, "max", 0, name))
    dt.communicator.named(name, torch.device("cpu")).close()


def subsets(r):
    """Groups of some ranks, each with a communicator, beside that of all."""
    first = dist.new_group([0, r.size - 1]) if r.size > 1 else dist.new_group([0])
    rest = [rank for rank in range(r.size) if rank not in (0, r.size - 1)]
    second = dist.new_group(rest) if rest else None
    group, members = (second, rest) if r.rank in rest else (first, sorted({0, r.size - 1}))
    with dt.Communicator(group) as comm:
        assert (comm.rank, comm.size) == (members.index(r.rank), len(members))
        for turn in range(5):
            x = r.own(6, seed=turn)
            equal(dt.all_gather(x, comm), torch.cat([r.of(rank, 6, seed=turn) for rank in members]))
            equal(dt.all_reduce(x, r.comm), sum(r.all(6, seed=turn)))
            equal(dt.all_reduce(x, comm), sum(r.of(rank, 6, seed=turn) for rank in members))
    other = first if r.rank in rest else second
    if other is not None:
        refuses(duet.BadArgument, "without this process", lambda: dt.Communicator(other))


def many_communicators(r):
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    before = None
    for turn in range(10):
        with dt.Communicator(name="again") as comm:
            equal(dt.all_reduce(torch.ones(2), comm), torch.full((2,), float(r.size)))
        refuses(duet.BadArgument, "closed", lambda: comm.empty(2))
        refuses(duet.BadArgument, "communicator 'again'", lambda: dt.all_reduce(torch.ones(2), comm))
        before = before if turn > 1 else descriptors()
    assert descriptors() <= before, (before, descriptors())


def a_rank_that_does_not_come_is_named(r):
    if r.size == 1:
        return
    if r.rank == 0:
        refuses(duet.Timeout, "process 1 of the group has not opened its communicator within 0.5 s",
                lambda: dt.Communicator(name="late", deadline=0.5))
    dist.barrier()
    with dt.Communicator(name="late") as comm:
        equal(dt.all_reduce(torch.ones(2), comm), torch.full((2,), float(r.size)))


def an_exception_releases_the_others(r):
    """Behind an exception a communicator is abandoned, and the others' calls end."""
    begin = time.monotonic()
    try:
        with dt.Communicator(name="ends") as comm:
            dt.all_reduce(torch.ones(2), comm)
            if r.rank == r.size - 1:
                raise KeyError("mine")
            dt.all_reduce(torch.ones(2), comm)
    except KeyError:
        assert r.rank == r.size - 1
    except duet.PeerFailed:
        assert r.rank < r.size - 1 and time.monotonic() - begin < 30
    else:
        raise AssertionError("expected an exception in all ranks")
    dist.barrier()


def calls_go_on_after_a_failure(r):
    """Where all processes live: clear() and then as before."""
    x = torch.ones(2)
    dt.all_reduce(x, r.comm)
    if r.size == 1:
        return
    if r.rank == 0:
        refuses(duet.Timeout, "one that does not come", lambda: r.comm.barrier("one that does not come", 0.2))
    dist.barrier()
    if r.rank > 0:
        refuses(duet.PeerFailed, "one that does not come", r.comm.barrier)
    dist.barrier()
    refuses(duet.PeerFailed, ".", lambda: dt.all_reduce(x, r.comm))
    r.comm.clear()
    equal(dt.all_reduce(x, r.comm), r.size * x)


def compiled(r):
    """Fake tensors, opcheck and torch.compile, where PyTorch has them."""
    if VERSION < (2, 4):
        return
    x, w = r.own(2 * r.size, 6).requires_grad_(), r.of(90, 6, 4).requires_grad_()
    norm = r.of(92, 4).requires_grad_()
    ops, name = torch.ops.duet, r.comm.name
    plain = x.detach(), w.detach()
    for op, arguments in ((ops.all_gather, plain[:1]), (ops.reduce_scatter, plain[:1]),
                          (ops.all_reduce, plain[:1]), (ops.all_to_all, plain[:1]),
                          (ops.all_reduce_rms_norm, (plain[0], plain[0], plain[0][0].clone(), 0.1)),
                          (ops.all_gather_matmul, (plain[0], [plain[1]], True)),
                          (ops.matmul_reduce_scatter, plain), (ops.matmul_all_reduce, plain)):
        torch.library.opcheck(op.default, (*arguments, name))

    def layer(x, w):
        y = torch.relu(dt.all_gather_matmul(x, w, r.comm))
        y, updated = dt.all_reduce_rms_norm(y, 2 * y, norm, 0.1, r.comm)
        return dt.matmul_reduce_scatter(y + updated, w.t(), r.comm).sum()

    found = []
    for function in (layer, torch.compile(layer, fullgraph=True, backend="aot_eager")):
        x.grad = w.grad = norm.grad = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compiler's own
            function(x, w).backward()
        found.append((x.grad.clone(), w.grad.clone(), norm.grad.clone()))
    for eager, by_compiler in zip(*found):
        near(by_compiler, eager)


def examples_of_the_docs(r):
    """The section's blocks on PyTorch, in their order."""
    with open("docs/python.md") as file:
        section = file.read().split("\n## PyTorch\n")[1].split("\n# ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.S)
    assert blocks
    names = {"comm": r.comm}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)


CHECKS = {check.__name__: check for check in (
    moves, sums, products, norms, experts, gradients, gradients_of_norms, second_derivatives, buffers,
    buffers_of_products, buffers_of_norms,
    tensors_keep_their_memory, many_calls, errors, a_forked_child_is_refused, symmetric_memory, subsets,
    many_communicators, a_rank_that_does_not_come_is_named, an_exception_releases_the_others,
    calls_go_on_after_a_failure, compiled, examples_of_the_docs)}


# ---- Processes ----------------------------------------------------------------------------------


def one_rank(rank, size, folder):
    """All checks; the first that fails ends the process."""
    torch.set_num_threads(1)
    store = dist.FileStore(os.path.join(folder, "store"), size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=60))
    for name, check in CHECKS.items():
        # Of one rank this engine's calls take PyTorch's tensors themselves.
        with dt.Communicator(name=f"of {name}", engine="dma" if size == 1 else "auto") as comm:
            check(Ranks(comm))
        dist.barrier()
        print("right:", name, flush=True)
    dist.destroy_process_group()


def processes(lines, environments, seconds=300):
    """Exit codes and what was printed of processes that run at the same time."""
    started = [subprocess.Popen([sys.executable, *line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env={**os.environ, **environment})
               for line, environment in zip(lines, environments)]
    try:
        said = [process.communicate(timeout=seconds)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return [process.returncode for process in started], said


class Torch(unittest.TestCase):
    def of_ranks(self, size):
        with tempfile.TemporaryDirectory() as folder:
            lines = [["-W", "error", __file__, str(rank), str(size), folder] for rank in range(size)]
            codes, said = processes(lines, [{}] * size)
        failed = [f"rank {rank} of {size}:\n" + said[rank][-2000:] for rank in range(size) if codes[rank]]
        self.assertFalse(failed, "\n".join(failed))
        for rank in range(size):
            self.assertEqual(re.findall("^right: (.*)$", said[rank], re.M), list(CHECKS))

    def test_one_rank(self):
        self.of_ranks(1)

    def test_two_ranks(self):
        self.of_ranks(2)

    def test_three_ranks(self):
        self.of_ranks(3)

    def test_duet_does_not_import_torch(self):
        said = subprocess.run([sys.executable, "-c", "import duet, sys; print('torch' in sys.modules)"],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(said, "False\n")

    def test_parts_of_a_sum_are_made_or_added(self):
        """As GPUs are asked for them; on CPUs all rows are one part."""
        x, weight = torch.arange(24.0).view(6, 4), torch.ones(4, 2)
        sent, kept = torch.full((6, 2), 100.0), torch.full((2, 2), 50.0)
        planned = calls._Planned(None, sent, kept, False)

        def part(first, count, tensor, adds):
            place = types.SimpleNamespace(address=tensor.data_ptr())
            return types.SimpleNamespace(first=first, count=count, place=place, adds=adds)

        parts = [part(4, 1, sent[4:], False), part(5, 1, sent[5:], True), part(0, 2, sent, False),
                 part(2, 2, kept, True)]
        rank = types.SimpleNamespace(_enqueue_rows=lambda _, multiply: [multiply(each) for each in parts])
        calls.Calls._multiply_summed(rank, planned, x, weight)
        product = x @ weight
        equal(sent, torch.cat([product[:2], torch.full((2, 2), 100.0), product[4:5], product[5:] + 100]))
        equal(kept, product[2:4] + 50)
        with self.assertRaisesRegex(duet.Error, "outside"):
            planned.rows_at(part(0, 1, torch.empty(2), False))

    def test_calls_on_gpus_follow_each_other_over_streams(self):
        """With stand-ins for PyTorch's streams: as numbers, 0 the default one."""
        made = calls.Calls(None, torch.device("cuda", 0), 1.0, {})
        now, capturing, waits, used = [0], [False], [], []

        @contextlib.contextmanager
        def stream(of):
            used.append(of)
            yield

        def rows(multiply, native):
            for each in (None, now[0], 9):
                multiply(types.SimpleNamespace(native=each))

        with mock.patch.object(torch._C, "_cuda_getCurrentRawStream", lambda _: now[0], create=True), \
                mock.patch.multiple(torch.cuda, stream=stream, default_stream=lambda _: 0,
                                    ExternalStream=lambda native, device: native,
                                    is_current_stream_capturing=lambda: capturing[0],
                                    current_stream=lambda _: types.SimpleNamespace(wait_stream=waits.append)):
            for now[0], capturing[0], expected in ((0, False, []), (7, False, [0]), (7, False, [0]),
                                                   (8, True, [0]), (0, False, [0, 8]), (7, False, [0, 8, 0])):
                made._follow()
                self.assertEqual(waits, expected)
            made._enqueue_rows(types.SimpleNamespace(call=types.SimpleNamespace(enqueue_rows=rows)), id)
        self.assertEqual(used, [0, 9])  # stream 7 is the current one

    def test_without_a_process_group(self):
        refuses(duet.BadArgument, "init_process_group", dt.Communicator)

    def test_the_example_trains(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environments = [{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2",
                         "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                         "CUDA_VISIBLE_DEVICES": "",  # of which there may be one for two ranks
                         "USE_LIBUV": "0"} for rank in range(2)]  # Debian's PyTorch has no libuv
        codes, said = processes([["-W", "error", "examples/tensor_parallel_torch.py"]] * 2, environments)
        self.assertEqual(codes, [0, 0], said)
        losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", said[0])]
        self.assertLess(losses[-1], 0.5 * losses[0], said)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].isdigit():
        one_rank(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    else:
        unittest.main()
