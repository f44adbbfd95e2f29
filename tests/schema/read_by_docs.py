"""The lines of Python in docs/results.md read a journal as the page says.

    read_by_docs.py REPOSITORY
"""
import os
import pathlib
import re
import subprocess
import sys

repository = pathlib.Path(sys.argv[1])
page = (repository / "docs/results.md").read_text(encoding="utf-8")
[program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
lines = [line for line in program.splitlines() if line.strip()]
assert len(lines) <= 10, f"{len(lines)} lines: expected at most ten"
os.chdir(repository / "docs/results/h200-4")
printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True,
                         text=True).stdout.splitlines()
assert len(printed) > 50, f"{len(printed)} lines printed: expected one for each case"
first = "cuda duet kind=peer executor=dma issue=push pattern=pair bytes=4096 source=cuda:0"
assert printed[0].startswith(first), printed[0]
assert printed[0].endswith("8.1 us  gb_per_s=0.504"), printed[0]
assert len(set(printed)) == len(printed), "a case is printed twice"
