"""Tests of the package `duet`, on CPUs and simulated machines: DUET_LIBRARY and DUET_PROGRAM name
the build's, the working directory is the source tree."""
import array
import ctypes
import doctest
import gc
import inspect
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

import duet
import duet.arrays
import duet.communicator
import duet.overlap
import duet.program
from duet import library

JOURNAL = "docs/results/epyc-2-cores/gemm-1.jsonl"


class Journals(unittest.TestCase):
    def test_a_journal_is_a_sequence_of_results(self):
        journal = duet.read(JOURNAL)
        self.assertEqual(len(journal), len(list(journal)))
        self.assertTrue(all(record["type"] == "result" for record in journal))
        self.assertIs(journal.environment_of(journal[0]), journal.environments[0])
        self.assertRegex(repr(journal), r"<Journal of \d+ results: gemm")

    def test_journals_follow_each_other(self):
        both = duet.read(JOURNAL, "docs/results/epyc-2-cores/gemm-2.jsonl")
        self.assertEqual(len(both.environments), 2)
        self.assertIs(both.environment_of(both[len(both) - 1]), both.environments[1])
        self.assertLess(len(both.last()), len(both))

    def test_what_is_no_journal_is_named_with_its_line(self):
        for text in ("no\n{}\n", '{"type": "environment"}\n[]\n{"type": "end"}', '{"type": "cat"}'):
            with self.assertRaisesRegex(duet.UsageError, r"^a\.jsonl:[12]: expected"):
                duet.parse(text, "a.jsonl")
        with self.assertRaisesRegex(duet.UsageError, "cannot be read"):
            duet.read("no/such/file.jsonl")

    def test_a_line_that_was_cut_short_is_left_out(self):
        with open(JOURNAL, "rb") as file:
            whole = file.read()
        cut = duet.parse(whole[:whole.rindex(b'"type"') + 20])
        self.assertEqual(len(cut.warnings), 1)
        self.assertGreater(len(cut), 0)

    def test_verdicts_are_those_of_the_library(self):
        verdicts = duet.read(JOURNAL).verdicts()
        words = {one["verdict"]["word"] for one in verdicts if one["verdict"]}
        self.assertIn("PASS", words)
        self.assertTrue(all(one["verdict"]["sentence"] for one in verdicts if one["verdict"]))

    def test_a_frame_has_a_row_for_each_case(self):
        try:
            import pandas
        except ImportError:
            with self.assertRaisesRegex(duet.UsageError, "pandas"):
                duet.read(JOURNAL).frame()
            self.skipTest("needs pandas")
        mixed = duet.read(JOURNAL, "docs/results/h200-2/collectives/neighbors.jsonl")
        frame = mixed.frame()
        self.assertEqual(len(frame), len(mixed.last()))
        self.assertEqual(str(frame["case.bytes"].dtype), "Int64")
        self.assertEqual(set(mixed.frame("gemm")["benchmark"]), {"gemm"})
        self.assertIsInstance(frame, pandas.DataFrame)


    def test_the_example_draws_curves(self):
        def draw(journal):
            picture = os.path.join(folder, "curves.svg")
            return subprocess.run([sys.executable, "examples/journal_curves.py", journal, picture],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "MPLCONFIGDIR": folder})

        with tempfile.TemporaryDirectory() as folder:
            said = draw("docs/results/h200-2/collectives/send-recv.jsonl")
            missing = re.fullmatch(r"journal_curves: expected (\w+): .*\n", said.stderr)
            if missing:
                self.assertEqual(said.returncode, 1)
                self.skipTest(f"needs {missing.group(1)}")
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertRegex(said.stdout, r"(?s)engine +GB/s.*\n24 cases are drawn in .*curves.svg\n$")
            with open(os.path.join(folder, "curves.svg")) as file:
                self.assertIn("</svg>", file.read())
            self.assertIn("expected results of `duet collective`", draw(JOURNAL).stderr)


class Programs(unittest.TestCase):
    def test_words_and_flags_become_a_command_line(self):
        line = duet.program.command_line("collective", ["all_gather"],
                                         {"minbytes": "64K", "dtype": ["fp32", "bf16"],
                                          "verbose": True, "flush": False, "engine": None})
        self.assertEqual(line, ["collective", "all_gather", "--minbytes", "64K", "--dtype",
                                "fp32,bf16", "--verbose", "--no-flush"])

    def test_records_come_while_the_program_runs(self):
        seen = []
        journal = duet.run("gemm", device="sim:h200", shapes=["512x512x512", "1024x1024x1024"],
                           on_record=seen.append)
        self.assertEqual([record["case"]["m"] for record in seen], [512, 1024])
        self.assertEqual(list(journal), seen)
        self.assertEqual(journal.environments[0]["machines"][0]["devices"][0]["kind"], "sim")

    def test_a_wrong_flag_is_the_programs_line(self):
        with self.assertRaisesRegex(duet.UsageError, "did you mean 'h200'"):
            duet.run("gemm", device="sim:h2000")
        with self.assertRaisesRegex(duet.Unavailable, "cannot be run"):
            os.environ["DUET_PROGRAM"], kept = "/no/such/duet", os.environ["DUET_PROGRAM"]
            try:
                duet.run("gemm")
            finally:
                os.environ["DUET_PROGRAM"] = kept

    def test_ctrl_c_keeps_the_journal_so_far(self):
        code = """
import duet
try:
    duet.run("gemm", device="host", shapes=["64x64x64"] + ["1024x1024x1024"] * 50, mode="at_least",
             seconds=1, engine="onednn,openblas", on_record=lambda _: print("record", flush=True))
except KeyboardInterrupt as error:
    print("kept", len(error.journal))
"""
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "record\n")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[0]
        self.assertRegex(said, r"kept [1-9]")


def numbers(*values):
    return b"".join(value.to_bytes(4, "little", signed=True) for value in values)


def floats(*values):
    return array.array("f", values).tobytes()


def gather(rank):
    """An all_gather of the ranks' numbers; the received ones."""
    send, recv = rank.empty(1, "int32"), rank.empty(rank.size, "int32")
    send.write(numbers(rank.index + 1))
    call, stream = rank.plan("all_gather", send, recv), rank.stream()
    call.enqueue(stream)
    stream.synchronize(30)
    got = recv.read()
    call.retire()
    stream.close()
    send.free()
    recv.free()
    return got


class Communicators(unittest.TestCase):
    def test_gathers_in_each_on_real_and_simulated_machines(self):
        for device, ranks in (("host:3", 3), ("sim:h200-4", 4)):
            got = {}
            with duet.Communicator(device) as comm:
                comm.each(lambda rank: got.update({rank.index: gather(rank)}))
            expected = numbers(*range(1, ranks + 1))
            self.assertEqual(got, {index: expected for index in range(ranks)})

    def test_ranks_have_threads_of_their_own(self):
        got = {}
        with duet.Communicator("host:2") as comm:
            threads = [threading.Thread(target=lambda local=local: got.update(
                {local: gather(comm.rank(local))})) for local in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(got, {0: numbers(1, 2), 1: numbers(1, 2)})

    def test_each_kind_counts_as_its_buffers_say(self):
        def reduce(rank):
            send, recv = rank.empty(6, "int32"), rank.empty(6, "int32")
            send.write(numbers(*range(6)))
            for kind, to, expected in (("all_reduce", recv, numbers(0, 3, 6, 9, 12, 15)),
                                       ("reduce_scatter", recv.part(0, 2), None),
                                       ("all_to_all", recv, None)):
                call, stream = rank.plan(kind, send, to), rank.stream()
                call.enqueue(stream)
                stream.synchronize(30)
                if kind == "reduce_scatter":
                    expected = numbers(6 * rank.index, 6 * rank.index + 3)
                if kind == "all_to_all":
                    expected = numbers(*[2 * rank.index, 2 * rank.index + 1] * 3)
                self.assertEqual(recv.read(bytes=len(expected)), expected, kind)
                call.retire()
                stream.close()
            send.free()
            recv.free()

        with duet.Communicator("host:3") as comm:
            comm.each(reduce)

    def test_a_call_of_one_rank_takes_other_buffers(self):
        with duet.Communicator("host:1", "dma") as comm:
            rank = comm.rank()
            send, recv, other = (rank.empty(4, "int32") for _ in range(3))
            call, stream = rank.plan("all_gather", send, recv), rank.stream()
            self.assertTrue(call.takes_buffers)
            for value, to in ((1, other), (2, recv)):
                send.write(numbers(*[value] * 4))
                call.enqueue_at(send, to, stream)
                stream.synchronize(30)
            self.assertEqual((other.read(), recv.read()), (numbers(1, 1, 1, 1), numbers(2, 2, 2, 2)))
            with self.assertRaisesRegex(duet.BadArgument, "a buffer of 8 bytes: expected 16"):
                call.enqueue_at(send, recv.part(0, 2), stream)
            with self.assertRaisesRegex(duet.BadArgument, "recv: expected a buffer of 16 bytes"):
                call.enqueue_at(send, None, stream)
            call.retire()
            with self.assertRaisesRegex(duet.BadArgument, "retired"):
                call.enqueue_at(send, recv, stream)
            stream.close()
            for memory in (send, recv, other):
                memory.free()
        with duet.Communicator("host:2") as comm:
            comm.each(self.refuse_other_buffers)

    def refuse_other_buffers(self, rank):
        send, recv, stream = rank.empty(1, "int32"), rank.empty(2, "int32"), rank.stream()
        call = rank.plan("all_gather", send, recv)
        self.assertFalse(call.takes_buffers)
        with self.assertRaisesRegex(duet.BadArgument, "expected a call that takes other buffers"):
            call.enqueue_at(send, recv, stream)
        call.retire()
        stream.close()

    def test_groups_gather_among_themselves(self):
        for device in ("host:4", "sim:h200-4"):
            with duet.Communicator(device) as comm:
                groups, found = comm.divide([[0, 2], [1, 3]]), {}

                def gather(rank):
                    own = groups.of(rank)
                    self.assertEqual((own.index, own.size), (rank.index // 2, 2))
                    send, recv = own.empty(1, "int32"), own.empty(2, "int32")
                    send.write(rank.index.to_bytes(4, "little"))
                    call, stream = own.plan("all_gather", send, recv), own.stream()
                    call.enqueue(stream)
                    stream.synchronize()
                    found[rank.index] = list(memoryview(recv.read()).cast("i"))
                    call.retire()

                comm.each(gather)
                self.assertEqual(found, {0: [0, 2], 1: [1, 3], 2: [0, 2], 3: [1, 3]})
                for wrong in ([[0, 1], [2]], [[0, 1], [1, 2]], [[1, 0], [2, 3]]):
                    with self.assertRaises(duet.BadArgument):
                        comm.divide(wrong)
                groups.close()

    def test_rows_are_multiplied_by_the_program(self):
        def gather(rank):
            rows, stream = rank.empty(rank.size * 8 * 16, "fp32"), rank.stream()
            own, asked = rows.part(rank.index * 128, 128), []
            call = rank.plan("all_gather", own, rows, columns=16, ranges=2)
            call.enqueue_rows(asked.append, stream)
            stream.synchronize()
            self.assertEqual(asked[0].first, rank.index * 8)  # its own
            self.assertEqual(sorted((each.first, each.count) for each in asked)[-1][0],
                             8 * rank.size - (8 if rank.index == rank.size - 1 else 4))
            for each in asked:
                self.assertEqual(each.place.address, rows.address + each.first * 64)
                self.assertEqual((each.place.count, each.adds), (each.count * 16, False))
                self.assertFalse(hasattr(each, "__cuda_array_interface__"))
            call.retire()

        def fails(rank):
            def multiply(_):
                raise ValueError("no GEMM")
            rows, stream = rank.empty(2 * 128, "fp32"), rank.stream()
            call = rank.plan("all_gather", rows.part(rank.index * 128, 128), rows, columns=16)
            call.enqueue_rows(multiply, stream)

        for device in ("host:2", "sim:h200-4"):
            with duet.Communicator(device) as comm:
                comm.each(gather)
                with self.assertRaises(duet.BadArgument):
                    comm.each(lambda rank: rank.plan("all_to_all", rank.empty(64), rank.empty(64),
                                                     columns=4))
        comm = duet.Communicator("host:2")
        with self.assertRaisesRegex(ValueError, "no GEMM"):
            comm.each(fails)
        comm.abandon()

    def test_a_sum_ends_with_residual_and_norm(self):
        def normed(rank):
            sizes = (48, 48, 48, 48, 16)
            x, out, residual, updated, weight = (rank.empty(size, "fp32") for size in sizes)
            before, weights = [i % 7 - 3.0 for i in range(48)], [i / 8 for i in range(16)]
            x.write(floats(*[1.0] * 48))
            residual.write(floats(*before))
            weight.write(floats(*weights))
            after, expected = [value + rank.size for value in before], []
            for row in (after[:16], after[16:32], after[32:]):
                root = (sum(value * value for value in row) / 16 + 0.25) ** 0.5
                expected += [value / root * weights[i] for i, value in enumerate(row)]
            stream = rank.stream()
            for to in (updated, residual):  # apart, and in place
                call = rank.plan("all_reduce", x, out, residual=residual, weight=weight, epsilon=0.25,
                                 updated=None if to is residual else to)
                call.enqueue(stream)
                stream.synchronize(30)
                self.assertEqual(to.read(), floats(*after))
                self.assertEqual(residual.read(), floats(*(after if to is residual else before)))
                for found, value in zip(memoryview(out.read()).cast("f"), expected):
                    self.assertAlmostEqual(found, value, 5)
                call.retire()
            stream.close()

        for device in ("host:3", "sim:h200-4"):
            with duet.Communicator(device) as comm:
                comm.each(normed)

    def test_rows_are_multiplied_before_their_norm(self):
        def normed(rank):
            partial, out, residual, weight = (rank.empty(size, "fp32") for size in (64, 64, 64, 16))
            residual.write(floats(*[3.0] * 64))
            weight.write(floats(*[0.5] * 16))
            product, stream, made = floats(*[1.0] * 64), rank.stream(), []

            def multiply(rows):
                self.assertFalse(rows.adds)
                ctypes.memmove(rows.place.address, product, rows.place.bytes)
                made.append(rows.count)

            call = rank.plan("all_reduce", partial, out, columns=16, ranges=1, sums="in_slots",
                             residual=residual, weight=weight)
            call.enqueue_rows(multiply, stream)
            stream.synchronize(30)
            self.assertEqual(sum(made), 4)
            self.assertEqual(residual.read(), floats(*[3.0 + rank.size] * 64))
            for value in memoryview(out.read()).cast("f"):
                self.assertAlmostEqual(value, 0.5, 6)
            call.retire()

        with duet.Communicator("host:2") as comm:
            comm.each(normed)

    def test_wrong_norms_are_named(self):
        with duet.Communicator("host:1") as comm:
            rank = comm.rank()
            x, row, whole = rank.empty(48, "fp32"), rank.empty(16, "fp32"), rank.empty(48, "int32")
            freed = rank.empty(16, "fp32")
            freed.free()
            residual = rank.empty(48, "fp32")
            for given, said in (
                    ({"residual": residual}, "expected residual= and weight=, or neither"),
                    ({"weight": row}, "expected residual= and weight=, or neither"),
                    ({"updated": residual}, "expected residual= and weight=, or neither"),
                    ({"residual": residual, "weight": row.address}, "weight: expected an array"),
                    ({"residual": whole, "weight": row}, "dtype: expected one of all buffers"),
                    ({"residual": residual, "weight": x.part(0, 14)}, "expected whole rows"),
                    ({"residual": residual.part(0, 32), "weight": row}, "residual: 128 bytes: expected 192"),
                    ({"residual": residual, "weight": row, "epsilon": -1.0}, "epsilon of 0 or more"),
                    ({"residual": residual, "weight": freed}, "the memory has been freed"),
                    ({"residual": x, "weight": row}, "overlap neither")):
                with self.assertRaisesRegex(duet.BadArgument, f"^[^\n]*{said}[^\n]*$"):
                    rank.plan("all_reduce", x, x, **given)
            with self.assertRaisesRegex(duet.BadArgument, "whole rows of a sum by all_reduce"):
                rank.plan("all_gather", x, x, residual=residual, weight=row)
            rank.plan("all_reduce", x, x, residual=residual, weight=row).retire()
            for memory in (x, row, whole, residual):
                memory.free()
        with self.assertRaisesRegex(duet.BadArgument, "closed"):
            rank.plan("all_reduce", 1, 1, count=4, dtype="fp32")

    def test_a_rank_that_raises_ends_the_others(self):
        def one_raises(rank):
            if rank.index == 1:
                raise ValueError("mine")
            rank.barrier()

        for device in ("host:2", "sim:h200-4") * 5:
            with duet.Communicator(device) as comm:
                with self.assertRaisesRegex(ValueError, "mine"):
                    comm.each(one_raises)
                comm.each(gather)

    def test_wrong_arguments_are_named(self):
        with self.assertRaisesRegex(duet.UsageError, "hots"):
            duet.Communicator("hots:2")
        with duet.Communicator("host:1") as comm:
            rank = comm.rank()
            memory, small = rank.empty(4, "int32"), rank.empty(2, "int32")
            with self.assertRaisesRegex(duet.BadArgument, "all_gathr"):
                rank.plan("all_gathr", memory, memory)
            with self.assertRaisesRegex(duet.BadArgument, "recv: 8 bytes: expected 16"):
                rank.plan("all_gather", memory, small)
            with self.assertRaisesRegex(duet.BadArgument, "dtype"):
                rank.plan("all_gather", memory.address, memory.address, count=4)
            with self.assertRaisesRegex(duet.BadArgument, "float: expected memory"):
                rank.plan("all_gather", 1.5, memory)
            with self.assertRaisesRegex(duet.BadArgument, "within 4"):
                memory.part(2, 3)
            with self.assertRaisesRegex(duet.BadArgument, "7: expected 0 to 0"):
                comm.rank(7)
            with self.assertRaises(duet.BadArgument):
                comm.close()  # memory exists
            memory.free()
            small.free()
            with self.assertRaisesRegex(duet.BadArgument, "freed"):
                memory.part(0, 1)
        with self.assertRaisesRegex(duet.BadArgument, "closed"):
            comm.rank()

    def test_a_timeout_leaves_the_communicator_usable(self):
        with duet.Communicator("host:2") as comm:
            with self.assertRaisesRegex(duet.Timeout, "one that does not come"):
                comm.rank(0).barrier("one that does not come", 0.2)
            with self.assertRaisesRegex(duet.PeerFailed, "one that does not come"):
                comm.rank(1).barrier()
            comm.each(gather)

    def test_a_forked_child_is_refused(self):
        with duet.Communicator("host:1") as comm:
            rank = comm.rank()
            memory, stream = rank.empty(4, "int32"), rank.stream()
            call = rank.plan("all_reduce", memory, memory)
            child = os.fork()
            if child == 0:
                refused = 0
                for use in (comm.rank, lambda: call.enqueue(stream), rank.barrier, call.retire):
                    try:
                        use()
                    except duet.BadArgument as error:
                        refused += "spawn" in str(error)
                os._exit(refused)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 4)
            call.retire()
            with self.assertRaisesRegex(duet.BadArgument, "retired"):
                call.enqueue(stream)
            stream.close()
            memory.free()

    def test_ctrl_c_ends_what_waits(self):
        code = """
import duet, time
comm = duet.Communicator("host:2")
print("waits", flush=True)
begin = time.monotonic()
try:
    comm.rank(0).barrier("a rank that does not come", 60)
except KeyboardInterrupt:
    print("ended", time.monotonic() - begin < 30)
"""
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "waits\n")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=60)[0], "ended True\n")

    def test_ctrl_c_ends_each(self):
        code = """
import sys, duet, time
comm = duet.Communicator(sys.argv[1])
def meet(rank):
    if rank.index == 0:
        print("meets", flush=True)
    for _ in range(10**7):
        rank.barrier()
begin = time.monotonic()
try:
    comm.each(meet)
except KeyboardInterrupt:
    print("ended", time.monotonic() - begin < 30)
comm.each(lambda rank: rank.barrier())
comm.close()
"""
        for device in ("host:2", "sim:h200-4"):
            process = subprocess.Popen([sys.executable, "-c", code, device], stdout=subprocess.PIPE, text=True)
            self.assertEqual(process.stdout.readline(), "meets\n")
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.communicate(timeout=90)[0], "ended True\n", device)

    def test_a_simulated_stream_that_nothing_ends_is_given_up_at_once(self):
        def one_comes(rank):
            memory, stream = rank.empty(rank.size, "int32"), rank.stream()
            call = rank.plan("all_reduce", memory, memory)
            if rank.index == 1:
                call.enqueue(stream)
            stream.synchronize(600)

        begin, comm = time.monotonic(), duet.Communicator("sim:h200-4")
        with self.assertRaises(duet.Timeout):
            comm.each(one_comes)
        self.assertLess(time.monotonic() - begin, 60)
        comm.each(gather)
        comm.abandon()

    def two_processes(self, code):
        """What two processes print that have a communicator `comm` of both, and its `rank`."""
        head = """
import os, sys, time, duet
index, path = int(sys.argv[1]), sys.argv[2]
def broadcast(mine):
    if mine is not None:
        with open(path + ".part", "wb") as file: file.write(mine)
        os.rename(path + ".part", path)
        return mine
    while not os.path.exists(path): time.sleep(0.01)
    with open(path, "rb") as file: return file.read()
comm = duet.Communicator("host", index=index, count=2, broadcast=broadcast, one_node=True)
rank = comm.rank()
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "address")
            processes = [subprocess.Popen([sys.executable, "-c", head + code, str(index), path],
                                          stdout=subprocess.PIPE, text=True) for index in range(2)]
            return [process.communicate(timeout=90)[0] for process in processes]

    def test_processes_find_each_other_by_a_broadcast(self):
        said = self.two_processes("""
send, recv = rank.empty(1, "int32"), rank.empty(2, "int32")
send.write((index + 5).to_bytes(4, "little"))
call, stream = rank.plan("all_gather", send, recv), rank.stream()
call.enqueue(stream)
stream.synchronize(30)
print(list(recv.read()[::4]))
call.retire()
stream.close()
send.free()
recv.free()
comm.close()
""")
        self.assertEqual(said, ["[5, 6]\n"] * 2)

    def test_a_peer_that_dies_is_noticed(self):
        said = self.two_processes("""
if index == 1:
    os.kill(os.getpid(), 9)
begin = time.monotonic()
for _ in range(2):
    try:
        rank.barrier("one that has died", 60)
    except duet.PeerFailed:
        print("noticed", time.monotonic() - begin < 30)
print("gone" if comm.failure() else "well")
comm.close()
""")
        self.assertEqual(said[0], "noticed True\nnoticed True\ngone\n")

    def test_a_peer_that_leaves_holds_nobody_up(self):
        said = self.two_processes("""
begin = time.monotonic()
try:
    with comm:
        if index == 1:
            raise ValueError("mine")
        rank.barrier("one that has left", 60)
except (ValueError, duet.PeerFailed) as error:
    print(type(error).__name__, time.monotonic() - begin < 30)
if index == 1:
    time.sleep(3)  # it lives on
""")
        self.assertEqual(said, ["PeerFailed True\n", "ValueError True\n"])

    def test_a_ranks_wrong_argument_is_told_to_all(self):
        said = self.two_processes("""
memory = rank.empty(8, "int32")
for send in (memory if index == 0 else memory.part(0, 3), 1.5 if index == 0 else memory):
    try:
        rank.plan("all_reduce", send, memory)
    except duet.BadArgument as error:
        print("BadArgument")
call = rank.plan("all_reduce", memory, memory)
call.retire()
memory.free()
comm.close()
print("closed")
""")
        self.assertEqual(said, ["BadArgument\nBadArgument\nclosed\n"] * 2)

    def test_failures_are_told_until_all_ranks_have_heard(self):
        with duet.Communicator("host:2") as comm:
            self.assertEqual(comm.failure(), "")
            with self.assertRaises(duet.Timeout):
                comm.rank(0).barrier("one that does not come", 0.2)
            time.sleep(0.3)
            self.assertIn("one that does not come", comm.failure())
            with self.assertRaises(duet.PeerFailed):
                comm.rank(1).barrier()
            self.assertEqual(comm.failure(), "")

    def test_each_is_for_ranks_that_have_not_heard_of_failures_too(self):
        with duet.Communicator("host:2") as comm:
            with self.assertRaises(duet.Timeout):
                comm.rank(0).barrier("one that does not come", 0.2)
            time.sleep(0.3)
            comm.each(gather)

    def test_calls_and_memory_end_in_any_order(self):
        def forgets(rank):
            memory = rank.empty(4, "int32")
            stream = rank.stream()
            rank.plan("all_reduce", memory, memory).enqueue(stream)
            stream.synchronize()

        comm = duet.Communicator("host:2")
        comm.each(forgets)
        with self.assertRaisesRegex(duet.BadArgument, "exist"):
            comm.close()
        comm.abandon()

    def test_what_is_open_when_python_ends_says_nothing(self):
        code = """
import builtins, duet
rank = duet.Communicator("host:1").rank()
memory = rank.empty(4, "int32")
builtins.kept = rank.stream(), memory, rank.plan("all_reduce", memory, memory)  # these end last
"""
        said = subprocess.run([sys.executable, "-W", "error", "-c", code], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual((said.returncode, said.stdout), (0, ""))

    def test_nothing_is_left_behind_by_many_openings_and_calls(self):
        said = subprocess.run([sys.executable, "-W", "error", "bench/many_communicators.py", "--opens", "40",
                               "--calls", "1000"], stdout=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual(said.returncode, 0, said.stdout)
        self.assertEqual(len(re.findall("times, .* us each", said.stdout)), 18, said.stdout)


class TwoCalls:
    """An all_gather and a sum of a rank's numbers, for what runs beside each other."""

    def __init__(self, rank):
        self.rank, self.stream = rank, rank.stream()
        self.own, self.all, self.sum = (rank.empty(count, "int32") for count in (1, rank.size, 1))
        self.gather = rank.plan("all_gather", self.own, self.all)
        self.reduce = rank.plan("all_reduce", self.own, self.sum)

    def fill(self, first):
        self.expected = [first + index for index in range(self.rank.size)]
        self.own.write(numbers(first + self.rank.index))
        self.rank.barrier("all ranks to have filled their buffers")

    def are_right(self):
        """Whether the stream has both results."""
        self.stream.synchronize(30)
        found = (self.all.read(), self.sum.read())
        self.rank.barrier("all ranks to have looked")
        return found == (numbers(*self.expected), numbers(sum(self.expected)))

    def end(self):
        self.gather.retire()
        self.reduce.retire()
        for each in (self.stream.close, self.own.free, self.all.free, self.sum.free):
            each()


class ByDlpack:
    """An array that nothing but DLPack tells of."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import numpy
        except ImportError:
            raise unittest.SkipTest("needs numpy") from None
        cls.numpy = numpy

    def test_memory_is_lent_as_long_as_arrays_of_it_live(self):
        with duet.Communicator("host:1") as comm:
            memory = comm.rank().empty(6, "int32")
            array = self.numpy.from_dlpack(memory)
            memory.write(numbers(*range(6)))
            self.assertEqual(array.tolist(), list(range(6)))
            self.assertEqual(array.dtype, self.numpy.int32)
            alive = weakref.ref(memory)
            del memory
            self.assertEqual(array.tolist(), list(range(6)))
            del array
            gc.collect()
            self.assertIsNone(alive())

    def test_a_capsule_that_nobody_takes_ends(self):
        with duet.Communicator("host:1") as comm:
            memory = comm.rank().empty(6, "fp16")
            capsule, alive = memory.__dlpack__(), weakref.ref(memory)
            self.assertEqual(memory.__dlpack_device__(), (1, 0))
            for wrong in ({"copy": True}, {"dl_device": (2, 0)}):
                with self.assertRaises(BufferError):
                    memory.__dlpack__(**wrong)
            del memory
            self.assertIsNotNone(alive())
            del capsule
            gc.collect()
            self.assertIsNone(alive())

    def test_memory_of_simulated_machines_is_nobodys(self):
        def lend(rank):
            memory = rank.empty(6)
            with self.assertRaises(BufferError):
                memory.__dlpack__()
            memory.free()

        with duet.Communicator("sim:h200-4") as comm:
            comm.each(lend)

    def test_arrays_are_understood(self):
        whole = self.numpy.arange(24, dtype=self.numpy.float32).reshape(4, 6)
        for array, dtype in ((whole, "fp32"), (whole[1:3], "fp32"), (whole.astype("float16"), "fp16"),
                             (whole.astype("int32"), "int32"), (whole.astype("uint8"), "int8")):
            place = duet.arrays.place_of(ByDlpack(array))
            self.assertEqual((place.address, place.count, place.dtype),
                             (array.ctypes.data, array.size, dtype))
        for wrong, said in ((whole[:, 1:], "contiguous"), (whole.T, "contiguous"),
                            (whole.astype("float64"), "64 bits")):
            with self.assertRaisesRegex(duet.BadArgument, said):
                duet.arrays.place_of(ByDlpack(wrong))
        whole.flags.writeable = False
        with self.assertRaisesRegex(duet.BadArgument, "readonly"):
            duet.arrays.place_of(ByDlpack(whole))

    def test_collectives_take_them(self):
        def gather(rank):
            send, recv = rank.empty(1, "int32"), rank.empty(rank.size, "int32")
            send.write(numbers(rank.index + 1))
            call = rank.plan("all_gather", ByDlpack(send), ByDlpack(recv))
            stream = rank.stream()
            call.enqueue(stream)
            stream.synchronize(30)
            self.assertEqual(self.numpy.from_dlpack(recv).tolist(), [1, 2])
            call.retire()
            stream.close()

        with duet.Communicator("host:2") as comm:
            comm.each(gather)
            gc.collect()


POLICIES = ("serial", "base", "priority", "zero-cta", "dma")


class Overlaps(unittest.TestCase):
    def on_each_machine(self, function):
        """Runs `function(TwoCalls)` for each rank on a real and on a simulated machine."""
        def run(rank):
            two = TwoCalls(rank)
            function(two)
            two.end()

        for device in ("host:2", "sim:h200-4"):
            with self.subTest(device), duet.Communicator(device) as comm:
                comm.each(run)

    def test_a_call_runs_beside_what_a_block_enqueues(self):
        def run(two):
            for policy in POLICIES:
                with two.rank.overlap(policy) as overlap:
                    for step in range(3):
                        two.fill(10 * step)
                        with overlap.beside(two.gather, two.stream):
                            two.reduce.enqueue(two.stream)
                        self.assertTrue(two.are_right(), policy)

        self.on_each_machine(run)

    def test_a_block_that_raises_leaves_the_call_enqueued(self):
        def run(two):
            for policy in POLICIES:
                with two.rank.overlap(policy) as overlap:
                    two.fill(7)
                    with self.assertRaisesRegex(ValueError, "no GEMM"):
                        with overlap.beside(two.gather, two.stream):
                            two.reduce.enqueue(two.stream)
                            raise ValueError("no GEMM")
                    self.assertTrue(two.are_right(), policy)
                    two.fill(8)
                    with overlap.beside(two.gather, two.stream):
                        two.reduce.enqueue(two.stream)
                    self.assertTrue(two.are_right(), policy)

        self.on_each_machine(run)

    def test_several_works_are_calls_and_functions(self):
        def run(two):
            lent = []

            def work(stream):
                lent.append(stream)
                two.reduce.enqueue(stream)

            def fails(_):
                raise ValueError("no GEMM")

            with two.rank.overlap(works=3) as overlap:
                two.fill(3)
                overlap.enqueue([(132, work), (0, two.gather)], two.stream)
                self.assertTrue(two.are_right())
                two.fill(4)
                with self.assertRaisesRegex(ValueError, "no GEMM"):
                    overlap.enqueue([(132, fails), (0, two.gather), (64, work)], two.stream)
                self.assertTrue(two.are_right())
            with self.assertRaises(duet.BadArgument):
                lent[0].synchronize()

        self.on_each_machine(run)

    def test_wrong_uses_are_named(self):
        def run(two):
            for policy in ("fast", "base,dma"):
                with self.assertRaises(duet.UsageError):
                    two.rank.overlap(policy)
            with self.assertRaises(duet.Unavailable):
                two.rank.overlap("partition:8")
            overlap = two.rank.overlap()
            with overlap.beside(two.gather, two.stream):
                with self.assertRaisesRegex(duet.BadArgument, "end"):
                    with overlap.beside(two.reduce, two.stream):
                        self.fail("begun twice")
            with self.assertRaisesRegex(duet.BadArgument, "at most 2 works"):
                overlap.enqueue([(0, two.gather)] * 3, two.stream)
            two.stream.synchronize()
            overlap.close()
            overlap.close()
            with self.assertRaisesRegex(duet.BadArgument, "closed"):
                with overlap.beside(two.gather, two.stream):
                    self.fail("enqueued")
            with self.assertRaisesRegex(duet.BadArgument, "closed"):
                overlap.enqueue([], two.stream)

        self.on_each_machine(run)

    def test_a_communicator_with_an_overlap_stays_open(self):
        with duet.Communicator("host:1") as comm:
            overlap = comm.rank().overlap()
            with self.assertRaisesRegex(duet.BadArgument, "1 exist"):
                comm.close()
            overlap.close()

    def test_engines_belong_to_policies(self):
        self.assertEqual(duet.overlap_engine("zero-cta", "cuda:0"), "nccl-zero-cta")
        with self.assertRaisesRegex(duet.UsageError, "expected cuda"):
            duet.overlap_engine("base", "hots")


class Exchanges(unittest.TestCase):
    TOKENS, HIDDEN = 3, 8

    def exchange_of(self, rank):
        return rank.token_exchange(self.TOKENS, self.HIDDEN, 2 * rank.size, 2, "fp32")

    def exchange_tokens(self, rank):
        """Tokens choose the first expert and the last one; the last token of each rank is left out."""
        exchange, stream = self.exchange_of(rank), rank.stream()
        self.assertEqual((exchange.own_experts, exchange.first_expert), (2, 2 * rank.index))
        rows = array.array("f", [rank.index + 1] * self.TOKENS * self.HIDDEN)
        exchange.tokens.write(rows)
        routing = array.array("i", [0, 2 * rank.size - 1]).tobytes() + array.array("f", [.25, .5]).tobytes()
        exchange.routing.write(routing * self.TOKENS)
        exchange.leave_out(self.TOKENS - 1, stream)
        exchange.dispatch(stream)
        stream.synchronize()
        arrived = rank.size * (self.TOKENS - 1)
        first = arrived if rank.index == 0 else 0
        last = arrived if rank.index == rank.size - 1 else 0
        self.assertEqual(list(memoryview(exchange.offsets.read()).cast("i")), [0, first, first + last])
        exchange.results.write(exchange.rows.read())
        exchange.combine(stream)
        stream.synchronize()
        sums = array.array("f", [.75 * (rank.index + 1)] * (self.TOKENS - 1) * self.HIDDEN + [0] * self.HIDDEN)
        self.assertEqual(exchange.out.read(), sums.tobytes())
        exchange.retire()
        stream.close()
        with self.assertRaisesRegex(duet.BadArgument, "retired"):
            exchange.dispatch()
        with self.assertRaisesRegex(duet.BadArgument, "freed"):
            exchange.rows.read()

    def test_tokens_go_to_their_experts_and_back(self):
        for device in ("host:1", "host:3", "sim:h200-4"):
            with self.subTest(device), duet.Communicator(device) as comm:
                comm.each(self.exchange_tokens)

    def test_a_router_chooses_for_fewer_tokens(self):
        def run(rank):
            exchange, stream = self.exchange_of(rank), rank.stream()
            logits = array.array("f", [0, 5, 6, 0] * rank.index)
            with self.assertRaisesRegex(duet.BadArgument, "array of fp32"):
                exchange.choose(exchange.offsets, stream=stream)
            place = duet.arrays.Place(logits.buffer_info()[0], len(logits), "fp32", logits)
            exchange.choose(place, stream=stream)
            stream.synchronize()
            experts = list(memoryview(exchange.routing.read()).cast("i"))
            found = [experts[4 * token:4 * token + 2] for token in range(self.TOKENS)]
            expected = [[2, 1]] * rank.index + [[-1, -1]] * (self.TOKENS - rank.index)
            self.assertEqual(found, expected)
            exchange.retire()
            stream.close()

        with duet.Communicator("host:2") as comm:
            comm.each(run)

    def test_wrong_options_are_named_to_all_ranks(self):
        def run(rank):
            with self.assertRaisesRegex(duet.BadArgument, "multiple of the 2 ranks"):
                rank.token_exchange(1, 8, 2 + rank.index, 1, "fp32")
            with self.assertRaisesRegex(duet.BadArgument, "dtype"):
                rank.token_exchange(1, 8, 2, 1, "fp64")
            self.exchange_of(rank).retire()

        with duet.Communicator("host:2") as comm:
            comm.each(run)


class Annotations(unittest.TestCase):
    def test_public_functions_have_types(self):
        def public(kind):
            return [value for name, value in vars(kind).items()
                    if inspect.isfunction(value) and not name.startswith("_")]

        found = 0
        for value in (getattr(duet, name) for name in duet.__all__):
            for function in public(value) if inspect.isclass(value) else [value]:
                signature = inspect.signature(function)
                found += 1
                self.assertIsNot(signature.return_annotation, signature.empty, function)
                for name, parameter in signature.parameters.items():
                    if name != "self":
                        self.assertIsNot(parameter.annotation, parameter.empty, (function, name))
        self.assertGreater(found, 30)
        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(duet.__file__), "py.typed")))


class Declarations(unittest.TestCase):
    """library.py declares what duet.h does."""

    def setUp(self):
        with open("src/bindings/duet.h") as file:
            self.header = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)

    def test_functions_have_the_headers_number_of_arguments(self):
        found = re.findall(r"DUET_API [\w ]+?\*?\s*(duet_\w+)\(([^;]*?)\) DUET_NOEXCEPT;",
                           self.header)
        counts = {name: 0 if words.strip() == "void" else words.count(",") + 1
                  for name, words in found}
        for name, (_, arguments) in library.FUNCTIONS.items():
            self.assertEqual(len(arguments), counts[name], name)
        self.assertEqual(set(counts) - set(library.FUNCTIONS), {"duet_status_name"})

    def test_numbers_are_the_headers(self):
        numbers = dict(re.findall(r"DUET_(\w+) = (\d+)", self.header))
        for names in (duet.communicator.KINDS, duet.communicator.DTYPES, duet.communicator.OPS,
                      duet.communicator.SUMS):
            for number, name in enumerate(names):
                self.assertEqual(int(numbers[name.upper()]), number, name)
        for status, kind in library.BY_STATUS.items():
            words = re.findall("[A-Z][a-z]*", kind.__name__)
            self.assertEqual(int(numbers["_".join(words).upper()]), status, kind)

    def test_arguments_have_the_headers_types(self):
        found = re.findall(r"DUET_API ([\w ]+?\*?)\s*(duet_\w+)\(([^;]*?)\) DUET_NOEXCEPT;",
                           self.header)
        types = {"int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64,
                 "size_t": ctypes.c_size_t, "double": ctypes.c_double, "duet_status": ctypes.c_int32,
                 "void": None, "duet_rank_function": library.RANK_FUNCTION,
                 "duet_rows_function": library.ROWS_FUNCTION,
                 "duet_work_function": library.WORK_FUNCTION}
        for result, name, words in found:
            if name not in library.FUNCTIONS:
                continue
            given = [] if words.strip() == "void" else [word.strip() for word in words.split(",")]
            has = (library.FUNCTIONS[name][0], *library.FUNCTIONS[name][1])
            for word, kind in zip([result + " it", *given], has):
                bare = word.replace("const ", "").rsplit(None, 1)[0]
                if "*" in word:
                    pointers = (ctypes.c_void_p, ctypes.c_char_p)
                    self.assertTrue(kind in pointers or issubclass(kind, ctypes._Pointer), (name, word))
                else:
                    self.assertIs(kind, types[bare.strip()], (name, word))

    def test_structs_have_the_compilers_layout(self):
        lines = ['#include "bindings/duet.h"', "#include <stdio.h>", "int main(void) {"]
        expected = []
        for name, struct in library.STRUCTS.items():
            for field, _ in struct._fields_:
                lines.append(f'printf("%zu\\n", offsetof({name}, {field}));')
                expected.append(getattr(struct, field).offset)
            lines.append(f'printf("%zu\\n", sizeof({name}));')
            expected.append(ctypes.sizeof(struct))
        with tempfile.TemporaryDirectory() as folder:
            source, binary = os.path.join(folder, "a.c"), os.path.join(folder, "a")
            with open(source, "w") as file:
                file.write("\n".join(lines + ["return 0; }"]))
            subprocess.run(["cc", "-std=c99", "-Isrc", source, "-o", binary], check=True)
            said = subprocess.run([binary], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual([int(line) for line in said.split()], expected)


def load_tests(_, tests, __):
    for module in (duet, duet.communicator, duet.overlap, duet.program):
        tests.addTests(doctest.DocTestSuite(module))
    tests.addTests(doctest.DocFileSuite("docs/python.md", module_relative=False))
    return tests


if __name__ == "__main__":
    unittest.main()
