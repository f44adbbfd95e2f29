#!/usr/bin/env python3
"""Runs printed schedules (docs/schedules.md), read from standard input, in random orders of their
steps: two calls in a row, byte by byte. Knows the printed form alone, nothing of Duet's checker.
Exit 1 with a sentence for the first schedule that blocks or has a wrong result."""
import json
import random
import sys

ORDERS = 8


class Fault(Exception):
    pass


def expected(form, rank):
    """The result in the receive buffer: (offset, set of (source rank, offset in its send))."""
    collective, ranks = form["collective"], form["ranks"]
    kind, count, root = collective["kind"], collective["count"], collective["root"]
    if kind == "all_gather" or kind == "gather":
        if kind == "gather" and rank != root:
            return
        for source in range(ranks):
            for byte in range(count):
                yield source * count + byte, {(source, byte)}
    elif kind == "all_to_all":
        for source in range(ranks):
            for byte in range(count):
                yield source * count + byte, {(source, rank * count + byte)}
    elif kind == "all_to_all_v":
        counts, at = collective["counts"], 0
        for source in range(ranks):
            begin = sum(counts[source * ranks : source * ranks + rank])
            for byte in range(counts[source * ranks + rank]):
                yield at, {(source, begin + byte)}
                at += 1
    elif kind == "broadcast":
        for byte in range(count):
            yield byte, {(root, byte)}
    elif kind == "scatter":
        for byte in range(count):
            yield byte, {(root, rank * count + byte)}
    elif kind == "send_recv":
        for byte in range(count):
            yield byte, {((rank - 1) % ranks, byte)}
    elif kind == "neighbor_exchange":
        buffers = form["buffers"]
        before, after = (rank - 1) % ranks, (rank + 1) % ranks
        last_sent = buffers[f"send@{before}"]["bytes"] - count
        last_received = buffers[f"recv@{rank}"]["bytes"] - count
        for byte in range(count):
            yield byte, {(before, last_sent + byte)}
            yield last_received + byte, {(after, byte)}
    elif kind == "reduce_scatter":
        for byte in range(count):
            yield byte, {(source, rank * count + byte) for source in range(ranks)}
    elif kind == "all_reduce":
        for byte in range(count):
            yield byte, {(source, byte) for source in range(ranks)}
    else:
        raise Fault(f"a collective of the unknown kind {kind}")


class Run:
    """Calls of these schedules, one after the other. They have buffers and semaphores of the same
    names in common."""

    def __init__(self, calls, order):
        self.form, self.order = calls[0], order
        self.memory, self.semaphores = {}, {}
        for form in calls:
            self.semaphores.update(form["semaphores"])
            for name, buffer in form["buffers"].items():
                if "in" not in buffer:
                    self.memory[name] = [None] * buffer["bytes"]
        self.value = {name: each["initial"] for name, each in self.semaphores.items()}
        self.taken = dict.fromkeys(self.value, 0)
        # What is still to run, by rank and lane: a call, and a step or what the caller does.
        self.lanes = {}
        self.ended = set()
        for call, form in enumerate(calls):
            for rank in range(form["ranks"]):
                self.lanes.setdefault((rank, "main"), []).append((call, ("before", rank)))
            for step in form["steps"]:
                self.lanes.setdefault((step["rank"], step["lane"]), []).append((call, step))
            for rank in range(form["ranks"]):
                self.lanes[rank, "main"].append((call, ("after", rank)))

    def place(self, name, offset):
        buffer = self.form["buffers"][name]
        return self.place(buffer["in"], buffer["at"] + offset) if "in" in buffer else (name, offset)

    def read(self, name, offset, size):
        name, offset = self.place(name, offset)
        found = self.memory[name][offset : offset + size]
        if len(found) < size:
            raise Fault(f"reads beyond the end of {name}")
        return found

    def write(self, name, offset, values):
        name, offset = self.place(name, offset)
        if offset + len(values) > len(self.memory[name]):
            raise Fault(f"writes beyond the end of {name}")
        self.memory[name][offset : offset + len(values)] = values

    def is_ready(self, call, step):
        if isinstance(step, tuple):
            return True
        if any((call, before) not in self.ended for before in step.get("after", [])):
            return False
        for name in step.get("waits", []):
            counts = self.semaphores[name]["counts"]
            if self.value[name] < (self.taken[name] + 1 if counts else 1):
                return False
        return True

    def run_step(self, call, step):
        if isinstance(step, tuple):
            return self.before(call, step[1]) if step[0] == "before" else self.after(call, step[1])
        for name in step.get("waits", []):
            self.taken[name] += 1
            if not self.semaphores[name]["counts"]:
                self.value[name] = 0
        reads = [self.read(*span) for span in step.get("reads", [])]
        for span in step.get("writes", []):
            values = [sorted(x for one in each for x in one or ["nothing"]) for each in zip(*reads)]
            if len(values) != span[2]:
                raise Fault(f"step {step['id']} writes {span[2]} bytes from {len(values)}")
            self.write(span[0], span[1], values)
        for name in step.get("signals", []):
            if not self.semaphores[name]["counts"] and self.value[name] != 0:
                raise Fault(f"step {step['id']} signals {name}, whose last signal still stands")
            self.value[name] += 1
        self.ended.add((call, step["id"]))

    def before(self, call, rank):
        send, recv = f"send@{rank}", f"recv@{rank}"
        sizes = {name: self.form["buffers"][name]["bytes"] for name in (send, recv)}
        self.write(recv, 0, [["poison"]] * sizes[recv])
        self.write(send, 0, [[(call, rank, byte)] for byte in range(sizes[send])])

    def after(self, call, rank):
        for offset, sources in expected(self.form, rank):
            found = self.read(f"recv@{rank}", offset, 1)[0]
            wanted = sorted((call, source, byte) for source, byte in sources)
            if found != wanted:
                raise Fault(f"rank {rank}, call {call}, byte {offset}: {found}, expected {wanted}")

    def all(self):
        while True:
            ready = [key for key, rest in self.lanes.items() if rest and self.is_ready(*rest[0])]
            if not ready:
                break
            key = self.order.choice(ready)
            self.run_step(*self.lanes[key].pop(0))
        left = [rest[0] for rest in self.lanes.values() if rest]
        if left:
            raise Fault(f"blocks: {left[0]}")
        for name, each in self.semaphores.items():
            if not each["counts"] and self.value[name] != each["initial"]:
                raise Fault(f"{name} is {self.value[name]} behind the calls")


def has_shared(form):
    return any(name.startswith("/") for name in form["semaphores"])


def main():
    forms = [json.loads(line) for line in sys.stdin]
    if not forms:
        sys.exit("no schedules: expected one a line")
    number = 0
    while number < len(forms):
        # Schedules that share names are called in turn, and the first one once more.
        turns = 2 if has_shared(forms[number]) else 1
        calls = forms[number : number + turns]
        for order in range(ORDERS):
            try:
                Run(calls + calls[:1], random.Random(order)).all()
            except Fault as fault:
                sys.exit(f"{calls[0]['name']}: order {order}: {fault}")
        number += turns
    print(number, "schedules")


main()
