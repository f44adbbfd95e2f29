#!/usr/bin/env python3
"""Prints Duet's training steps beside PyTorch's, of journals by `duet train` and train_torch.py.

  python3 bench/beside_torch.py OUT/*.jsonl

Each case is a line: tokens/s of all devices by the fastest engine of both, and their ratio. Of an
engine that several journals have, that is the median. Cases are the same if model, size, recipe,
recomputation, way of training in parallel and number of devices are.

"alone" is the rate without communication: Duet's engine none, PyTorch's no_sync().
"""
import json
import statistics
import sys

NO_COMMUNICATION = ("none", "no-communication")
COLUMNS = ("model", "recipe", "batch", "recompute", "parallel", "ranks", "keep_gathered")
HEADINGS = COLUMNS + ("Duet", "engine", "alone", "PyTorch", "engine", "alone", "ratio")


def steps_of(paths):
    """Records of steps; of a case that a journal has twice the last one."""
    for path in paths:
        last = {}
        with open(path, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                if record.get("benchmark") == "train":
                    last[record["engine"], json.dumps(record["case"], sort_keys=True)] = record
        yield from last.values()


def side_of(record):
    """Who measured it, and whether devices communicated."""
    engine = record["engine"]
    who = "PyTorch" if engine.startswith("torch-") else "Duet"
    return who, not engine.endswith(NO_COMMUNICATION)


def rate_of(record):
    return record["rates"].get("tokens_per_s", record["rates"].get("samples_per_s"))


def fastest(records, side):
    """(rate, engine), or None."""
    rates = {}
    for each in records:
        if side_of(each) == side:
            rates.setdefault(each["engine"], []).append(rate_of(each))
    return max(((statistics.median(some), engine) for engine, some in rates.items()), default=None)


def cells_of(case, records):
    cells = [str(case.get(column, "")) for column in COLUMNS]
    rates = {}
    for who in ("Duet", "PyTorch"):
        best, alone = (fastest(records, (who, communicates)) for communicates in (True, False))
        rates[who], engine = best or (None, "-")
        cells += [f"{rates[who]:.0f}" if best else "-", engine.replace("torch-", ""),
                  f"{alone[0]:.0f}" if alone else "-"]
    ratio = f"{rates['Duet'] / rates['PyTorch']:.3f}" if all(rates.values()) else "-"
    return cells + [ratio]


def main():
    groups = {}
    for record in steps_of(sys.argv[1:]):
        if record["outcome"] != "measured":
            failed = record.get("failed", record.get("skipped", {})).get("reason", "")
            print(f"{record['engine']} {record['case']}: {record['outcome']}: {failed}")
            continue
        groups.setdefault(json.dumps(record["case"], sort_keys=True), []).append(record)
    lines = [HEADINGS] + [cells_of(json.loads(case), some) for case, some in groups.items()]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))


if __name__ == "__main__":
    main()
