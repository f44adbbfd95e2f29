"""How long `duet fleet` takes, and how much memory, for the journals of many nodes.

  python3 bench/fleet_size.py build/duet [NODES]        1,000 nodes if not told

A simulated node of 8 GPUs measures its links. Each node gets a journal of these 228 cases and their
samples, with a noise of 1%, and the one in the middle a GPU whose links are 10% slower. Prints the
size of the journals, the time and the memory of `duet fleet`, and fails if it does not name that GPU.
"""
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

BASE = ("copy --device sim:h200-8 --kind peer --executor dma,kernel --issue push,pull --pattern pair "
        "--one-way --sizes 1M --matrix 64M --quiet --json").split()
SAMPLES = 32
SLOW_GPU = "sim:h200-8:3"


def short(value):
    """With the nine digits of a journal."""
    return float(f"{value:.9g}")


def lines_of(base, node, is_slow, draws):
    for record in base:
        if record["type"] == "environment":
            record["run"]["host"]["name"] = node
        elif record.get("outcome") == "measured":
            of_slow = SLOW_GPU in (record["case"].get("source"), record["case"].get("destination"))
            factor = draws.gauss(1, 0.01) * (0.9 if is_slow and of_slow else 1)
            seconds = dict(record["seconds"])
            seconds["median"] = short(seconds["median"] / factor)
            samples = [short(seconds["median"] * draws.gauss(1, 0.01)) for _ in range(SAMPLES)]
            rates = {name: short(rate * factor) for name, rate in record["rates"].items()}
            record = {**record, "seconds": seconds, "rates": rates, "samples": samples}
        yield json.dumps(record, separators=(",", ":")) + "\n"


def measured(duet, folder):
    begin = time.monotonic()
    result = subprocess.run([duet, "fleet", folder], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, seconds, used


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("fleet_size.py: expected the program duet, and a number of nodes or nothing")
    duet, nodes = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 1000
    with tempfile.TemporaryDirectory() as folder:
        base_file = pathlib.Path(folder, "base.json")
        subprocess.run([duet, *BASE, base_file], check=True)
        base = [json.loads(line) for line in base_file.read_text().splitlines()]
        base_file.unlink()
        draws = random.Random(1)
        slow = f"node{nodes // 2}"
        for number in range(nodes):
            node = f"node{number}"
            pathlib.Path(folder, node + ".jsonl").write_text(
                "".join(lines_of(base, node, node == slow, draws)))
        size = sum(each.stat().st_size for each in pathlib.Path(folder).iterdir())
        cases = sum(record.get("outcome") == "measured" for record in base)
        print(f"{nodes} journals of {cases} cases, {size / 1e6:.0f} MB, {os.cpu_count()} cores")
        result, seconds, used = measured(duet, folder)
    print(f"duet fleet: {seconds:.1f} s, CPU {used.ru_utime + used.ru_stime:.1f} s with what made "
          f"the base, at most {used.ru_maxrss / 1024:.0f} MiB")
    print("\n".join(result.stdout.splitlines()[:6]))
    if f"{slow} {SLOW_GPU} " not in result.stdout:
        sys.exit(f"fleet_size.py: {slow} {SLOW_GPU} is not named: {result.stderr}")


if __name__ == "__main__":
    main()
