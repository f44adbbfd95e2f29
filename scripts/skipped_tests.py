#!/usr/bin/env python3
"""Prints a line for each test that was skipped, with its reason: skipped_tests.py JUNIT_FILE.

The reason is what the test says behind "skipped: ", else GoogleTest's line below "Skipped", else the
last line of its output."""

import sys
import xml.etree.ElementTree


def reason_in(output):
    lines = [line for line in output.splitlines() if line.strip()]
    for line in lines:
        if "skipped: " in line:
            return line.split("skipped: ", 1)[1]
    for line, below in zip(lines, lines[1:]):
        if line.endswith(": Skipped"):
            return below
    return lines[-1] if lines else "it does not say why"


def main():
    skipped = [
        (case.get("name"), reason_in(case.findtext("system-out") or ""))
        for case in xml.etree.ElementTree.parse(sys.argv[1]).iter("testcase")
        if case.find("skipped") is not None
    ]
    if skipped:
        print(f"\n{len(skipped)} {'test' if len(skipped) == 1 else 'tests'} skipped:")
    for name, reason in skipped:
        print(f"  {name:24} {reason}")


main()
