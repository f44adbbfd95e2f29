"""Bus bandwidth over size, a curve for each engine, of a journal of `duet collective`:

    python3 examples/journal_curves.py                          four H200, of docs/results
    python3 examples/journal_curves.py JOURNAL PICTURE.svg      yours (.svg, .png, .pdf)

Editors and Jupyter (jupytext) take each `# %%` as a notebook's cell. It needs pandas and matplotlib
(apt-get install python3-pandas python3-matplotlib).
"""
# %%
import sys

try:
    import matplotlib
    import pandas  # of frames
except ImportError as missing:
    sys.exit(f"journal_curves: expected {missing.name}: apt-get install python3-{missing.name}, or pip install it")

import duet

NOTEBOOK = "ipykernel" in sys.modules
if not NOTEBOOK:
    matplotlib.use("agg")  # draws into files
given = [] if NOTEBOOK else sys.argv[1:3]
path, picture = (given + ["docs/results/h200-4/collectives/all_gather.jsonl", "curves.svg"][len(given):])
journal = duet.read(path)
journal

# %% A row for each case, of one collective out of place; the axes are columns.
frame = journal.frame("collective")
if frame.empty:
    sys.exit(f"journal_curves: {path}: expected results of `duet collective`")
frame = frame[(frame["outcome"] == "measured") & ~frame["case.in_place"]]
kind = frame["case.collective"].iloc[0]
frame = frame[frame["case.collective"] == kind]
rates = frame.pivot_table(index="case.bytes", columns="engine", values="rates.busbw_gb_per_s")
rates

# %% Which engine is the fastest at each size?
best = pandas.DataFrame({"engine": rates.idxmax(axis=1), "GB/s": rates.max(axis=1).round(1)})
print(best.to_string())

# %% The curves, with what 95 of 100 samples reached at least.
device = frame.attrs["environments"][0]["machines"][0]["devices"][0]
ranks = int(frame["case.ranks"].iloc[0])
axes = rates.plot(logx=True, marker=".", figsize=(8, 5), xlabel="bytes", ylabel="bus bandwidth, GB/s",
                  title=f"{kind}, {ranks} x {device['model']}")
for line, engine in zip(axes.get_lines(), rates.columns):
    own = frame[frame["engine"] == engine].sort_values("case.bytes")
    slow = own["rates.busbw_gb_per_s"] * own["seconds.median"] / own["seconds.p95"]
    axes.fill_between(own["case.bytes"].astype(float), slow, own["rates.busbw_gb_per_s"], alpha=0.15,
                      color=line.get_color())
axes.grid(alpha=0.3)
axes.figure.savefig(picture)
print(f"{len(frame)} cases are drawn in {picture}")
