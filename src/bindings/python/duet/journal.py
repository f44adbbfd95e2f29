"""Journals: the results of runs, one JSON record a line (docs/results.md)."""
from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, Dict

from . import library
from .errors import UsageError

Record = Dict[str, Any]  # as JSON has it

# Axes that are numbers keep that in a frame, where a missing one would make them floats.
_INTEGER, _TEXT = "Int64", "string"


def read(*paths: str | os.PathLike[str]) -> Journal:
    """The journal of one or several files, whose runs follow each other.

    Raises UsageError, which names file and line, where one is no journal. A last line that was cut
    short, as a run that was killed leaves it, is left out, with a word in `warnings`.

    >>> journal = read("tests/golden/gemm_mi300x.jsonl")    # doctest: +SKIP
    """
    if not paths:
        raise UsageError("read: expected a path")
    whole = Journal()
    for path in paths:
        try:
            with open(path, "rb") as file:
                whole += parse(file.read(), os.fspath(path))
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    return whole


def parse(text: str | bytes, name: str = "journal") -> Journal:
    """The journal in a text or bytes; `name` is for messages."""
    if isinstance(text, str):
        text = text.encode()
    journal = Journal()
    lines = text.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            kind = record["type"]
        except (ValueError, KeyError, TypeError):
            if number == len(lines):
                journal.warnings.append(f"{name}:{number}: the last line was cut short")
                break
            raise UsageError(f"{name}:{number}: expected a JSON object with a type") from None
        journal._take(kind, record, f"{name}:{number}")
    journal._texts.append((name, text))
    return journal


class Journal:
    """A sequence of results, as dicts with the fields of docs/results.md.

    `environments` are the machines of its runs; `environment_of(record)` is that of one result.
    `warnings` are lines for the reader.
    """

    def __init__(self) -> None:
        self.environments: list[Record] = []
        self.warnings: list[str] = []
        self._records: list[Record] = []
        self._run_of: list[int] = []
        self._texts: list[tuple[str, bytes]] = []

    def _take(self, kind, record, place):
        if kind == "environment":
            self.environments.append(record)
        elif kind == "result":
            self._records.append(record)
            self._run_of.append(len(self.environments) - 1)
        elif kind != "end":
            raise UsageError(f"{place}: expected a type environment, result or end, not {kind!r}")

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: Any) -> Any:
        return self._records[index]

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __add__(self, other: Journal) -> Journal:
        both = Journal()
        for one in (self, other):
            both._run_of += [run if run < 0 else run + len(both.environments) for run in one._run_of]
            both.environments += one.environments
            both._records += one._records
            both.warnings += one.warnings
            both._texts += one._texts
        return both

    def __repr__(self):
        benchmarks = sorted({record["benchmark"] for record in self})
        return f"<Journal of {len(self)} results: {', '.join(benchmarks) or 'none'}>"

    def _repr_html_(self):
        return self.frame()._repr_html_()

    def environment_of(self, record: Record) -> Record | None:
        """The environment of one of its results; None where its file has none."""
        for one, run in zip(self._records, self._run_of):
            if one is record:
                return self.environments[run] if run >= 0 else None
        raise UsageError("environment_of: expected one of the journal's own results")

    def last(self) -> list[Record]:
        """The last result of each case: what counts where a case was measured again."""
        found = {}
        for record in self:
            found[_key(record)] = record
        return list(found.values())

    def samples(self, record: Record) -> list[float]:
        """The seconds of each sample of a result; [] where the journal has none."""
        return record.get("samples", [])

    def frame(self, benchmark: str | None = None) -> Any:
        """A pandas.DataFrame with a row for the last result of each case.

        Columns are `benchmark`, `device`, `engine`, `outcome`, then `case.AXIS`, `seconds.FIGURE`,
        `rates.RATE` with the unit in its name, and `metrics.METRIC`. Integer axes are Int64.
        `frame.attrs["environments"]` are the machines. `benchmark`: of one alone. Needs pandas.
        """
        try:
            import pandas
        except ImportError:
            raise UsageError("frame: expected pandas: pip install pandas") from None
        rows = [_row(record) for record in self.last()
                if benchmark is None or record["benchmark"] == benchmark]
        columns: dict = {}
        for row in rows:
            for column in row:
                columns.setdefault(column, None)
        frame = pandas.DataFrame(
            {column: pandas.Series([row.get(column) for row in rows], dtype=_dtype(rows, column))
             for column in columns})
        frame.attrs["environments"] = self.environments
        return frame

    def verdicts(self) -> list[Record]:
        """Whether each figure is as it should be (docs/verdicts.md): dicts with `benchmark`,
        `device`, `engine`, `case` and `verdict`, which is None where there is nothing to say, and
        else has `word`, `sentence`, and where they are known `rate`, `value`, `expected`, `bound`,
        `advice`. Needs the library."""
        return [json.loads(line) for name, text in self._texts
                for line in library.verdicts(name, text).splitlines()]


def _key(record):
    return json.dumps([record["benchmark"], record.get("device"), record.get("engine"),
                       record["case"]], sort_keys=True)


def _row(record):
    row = {name: record.get(name) for name in ("benchmark", "device", "engine", "outcome")}
    for part in ("case", "seconds", "rates", "metrics"):
        for name, value in (record.get(part) or {}).items():
            row[f"{part}.{name}"] = value
    return row


def _dtype(rows, column):
    values = [row[column] for row in rows if row.get(column) is not None]
    if all(isinstance(value, bool) for value in values):
        return "boolean" if values else "object"
    if all(isinstance(value, int) for value in values):
        return _INTEGER
    if all(isinstance(value, str) for value in values):
        return _TEXT
    if all(isinstance(value, (int, float)) for value in values):
        return "float64"
    return "object"
