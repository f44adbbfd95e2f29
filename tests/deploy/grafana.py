#!/usr/bin/env python3
"""Whether the Grafana dashboard is JSON that queries only metrics which Duet writes, and all of them.
grafana.py ROOT. Where promtool is installed (Debian's package prometheus), it also parses the queries."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1])
dashboard = json.loads((root / "deploy/grafana/duet.json").read_text())
faults = []

queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
asked = {name for query in queries for name in re.findall(r"\bduet_[a-z_]+", query)}
sources = [path for path in (root / "src").rglob("*.cc") if not path.name.endswith("_test.cc")]
written = set()
for path in sources:
    text = path.read_text()
    if "prometheus_text.h" in text or "prometheus_gauge(" in text or "PrometheusMetric" in text:
        written |= set(re.findall(r'"(duet_[a-z_]+)"', text))


def base(name):
    return re.sub(r"_(bucket|sum|count)$", "", name)


faults += [f"no source writes {name}" for name in sorted(asked) if name not in written and base(name) not in written]
faults += [f"no panel shows {name}" for name in sorted(written - {base(name) for name in asked} - asked)]
if len(queries) < 20:
    faults.append(f"only {len(queries)} queries")

places = {}
for panel in dashboard["panels"]:
    place = panel["gridPos"]
    for x in range(place["x"], place["x"] + place["w"]):
        for y in range(place["y"], place["y"] + place["h"]):
            if places.setdefault((x, y), panel["title"]) != panel["title"]:
                faults.append(f"{panel['title']} overlaps {places[x, y]}")
    if place["x"] + place["w"] > 24:
        faults.append(f"{panel['title']} is wider than the page")
if len({panel["id"] for panel in dashboard["panels"]}) != len(dashboard["panels"]):
    faults.append("two panels have one id")

if shutil.which("promtool"):
    rules = {"groups": [{"name": "dashboard", "rules": [
        {"record": f"duet:query{number}", "expr": query.replace("$instance", ".*")}
        for number, query in enumerate(queries)]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump(rules, file)  # JSON is YAML
        file.flush()
        done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True)
        if done.returncode != 0:
            faults.append(done.stdout + done.stderr)
else:
    print("queries not parsed by promtool, which is not installed (Debian's package prometheus)")

print("\n".join(sorted(set(faults))) or f"{len(queries)} queries of {len(asked)} metrics")
sys.exit(1 if faults else 0)
