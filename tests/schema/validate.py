"""docs/journal.schema.json accepts every journal of docs/results, of the fuzzer and of duet import,
and refuses broken records.

    validate.py REPOSITORY DUET
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: needs python3-jsonschema")
    sys.exit(77)

repository, duet = pathlib.Path(sys.argv[1]), sys.argv[2]
schema = json.loads((repository / "docs/journal.schema.json").read_text(encoding="utf-8"))
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
failures = []


def records_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def accept(path):
    for number, record in enumerate(records_of(path), 1):
        for error in validator.iter_errors(record):
            failures.append(f"{path}:{number}: {error.json_path}: {error.message}")


def broken(record, path, value):
    """The record with another value at the path; without the field if the value is Ellipsis."""
    other = copy.deepcopy(record)
    *parents, last = path
    place = other
    for key in parents:
        place = place[key]
    if value is Ellipsis:
        del place[last]
    else:
        place[last] = value
    return other


def refuse(record, *changes):
    for path, value in changes:
        if validator.is_valid(broken(record, path, value)):
            failures.append(f"accepted: {path} = {value}")


journals = sorted((repository / "docs/results").rglob("*.jsonl"))
if len(journals) < 50:
    failures.append(f"only {len(journals)} journals in docs/results")
for journal in journals:
    accept(journal)

with tempfile.TemporaryDirectory() as folder:
    for output in sorted((repository / "tests/importing").iterdir()):
        if output.suffix == ".md":
            continue
        imported = pathlib.Path(folder) / (output.name + ".jsonl")
        subprocess.run([duet, "import", output, "--out", imported, "--collective", "all_gather"],
                       check=True, stdout=subprocess.DEVNULL)
        accept(imported)

copies = records_of(repository / "docs/results/h200-4/copy.jsonl")
environment = copies[0]
result = next(record for record in copies if record.get("outcome") == "measured")
derived = next(record for record in copies if record.get("outcome") == "derived")
refuse(environment, (["type"], "start"), (["schema"], 2), (["schema"], ...), (["machines"], ...),
       (["machines"], {}), (["machines", 0, "name"], ...), (["machines", 0, "devices"], {}),
       (["machines", 0, "devices", 0, "name"], 0), (["machines", 0, "links", 0, "from"], "a"),
       (["machines", 0, "links", 0, "gb_per_s"], -1), (["run", "command"], 1),
       (["run", "variables"], {"A": 1}), (["run", "host", "cores"], 1.5), (["processes"], "two"),
       (["imported"], {"tool": 1}))
refuse(result, (["benchmark"], ...), (["device"], None), (["case"], []), (["case", "bytes"], None),
       (["case", "bytes"], {}), (["outcome"], "fast"), (["seconds"], ...),
       (["seconds", "median"], "1"), (["seconds", "median"], -1), (["seconds", "n"], 0),
       (["seconds", "ci_low"], ...), (["cost"], ...), (["cost", "flop"], -1), (["mode"], ...),
       (["flushed"], "no"), (["verified"], ...), (["rates"], {"gb_per_s": "fast"}),
       (["notes"], {"a": 1}), (["warnings"], [1]), (["samples"], [-1]), (["warm_ups"], 1.5),
       (["telemetry"], {"watts": {"mean": 1}}), (["load"], 0.5), (["timeline"], [{}]),
       (["timeline"], [{"compute": [0], "communication": [0, 1]}]), (["curves"], {"loss": [None]}),
       (["skipped"], {}))
refuse(derived, (["rates"], ...), (["notes"], ...))
refuse({"type": "end", "schema": 1, "load": {}}, (["load"], 1), (["load"], {"others": "x"}),
       (["time_utc"], 1))
for name in ("result", "environment", "end"):
    if name != "end" and validator.is_valid({"type": name, "schema": 1}):
        failures.append(f"accepted: an empty {name}")

print("\n".join(failures[:20]) or f"{len(journals)} journals of docs/results are valid")
sys.exit(1 if failures else 0)
