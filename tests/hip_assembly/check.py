#!/usr/bin/env python3
"""Checks the assembly of gfx942's or gfx950's kernels (scripts/check_hip.sh): check.py FILE.s...

What it holds, after LLVM's "Memory Model GFX942" (AMDGPUUsage), which compilers follow for both:
- a write-back of the L2 cache (buffer_wbl2), with which a release begins, is waited for
  (s_waitcnt vmcnt(0)) before the next access to memory, barrier or branch;
- a load of a semaphore in system scope (sc0 sc1) is waited for, and then caches are invalidated in
  that scope (buffer_inv sc0 sc1), before the next access to memory. Packets need neither: both of
  their words, which are loaded one behind the other, have the number of their call;
- kernels that signal and wait do so in system scope, and stores that the cache may evict first are
  non-temporal (nt).
"""
import pathlib
import re
import sys

RELEASE, ACQUIRE, STORE, LOAD, NT = "release", "acquire", "store", "load", "non-temporal store"
SYSTEM = {RELEASE, ACQUIRE, STORE, LOAD}
# What each kernel, or function apart, of these names has; all others have no words.
EXPECTED = {
    "local_kernel": SYSTEM,
    "peer_kernel": SYSTEM,
    "peer_moves_kernel": SYSTEM,
    "push_kernel": SYSTEM,
    "packet_kernel": {STORE, LOAD},
    "packet_moves_kernel": {STORE, LOAD},
    "bare_packet_kernel": {STORE, LOAD},
    "packet_norm_kernel": {STORE, LOAD},
    "push_rest": {STORE},  # of packets, as take_rest
    "take_rest": {LOAD},
    "sweep_kernel": {NT},
    "exchange_kernel": SYSTEM | {NT},
}
ACCESS = re.compile(r"(global|flat|buffer|scratch)_(load|store|atomic)")
WORD_LOAD = re.compile(r"(?:global|flat)_load_dwordx2 [^,]+, (.*?)(?: offset:(-?\d+))? sc0 sc1$")
FINDS = {
    RELEASE: re.compile(r"buffer_wbl2 sc0 sc1$"),
    ACQUIRE: re.compile(r"buffer_inv sc0 sc1$"),
    STORE: re.compile(r"(global|flat)_store_dwordx2 .* sc0 sc1$"),
    LOAD: WORD_LOAD,
    NT: re.compile(r"global_store_\w+ .* nt$"),
}


def kernels(path):
    """Each kernel's name and its instructions but s_nop, with their lines' numbers."""
    name, body = None, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = re.sub(r"\s+", " ", line.split(";")[0]).strip()
        if match := re.match(r"(_Z\w+):", text):
            name, body = match.group(1), []
        elif text.startswith(".Lfunc_end") and name:
            yield name, body
            name = None
        elif name and text and not text.startswith((".", "s_nop")):
            body.append((number, text))


def waits(text):
    return text.startswith("s_waitcnt") and "vmcnt(0)" in text


def ends_a_wait(text):
    return ACCESS.match(text) or re.match(r"s_(barrier|endpgm|branch|cbranch)", text)


def unwaited(body, begin):
    """Where the wait behind instruction `begin` is missing: the line that comes before it."""
    for number, text in body[begin + 1 :]:
        if waits(text):
            return None
        if ends_a_wait(text):
            return number
    return None


def not_invalidated(body, begin):
    waited = False
    for number, text in body[begin + 1 :]:
        waited = waited or waits(text)
        if FINDS[ACQUIRE].match(text):
            return None if waited else number
        if ends_a_wait(text):
            return number
    return body[begin][0]


def address(text):
    """Of a load of a word: its register and offset."""
    match = WORD_LOAD.match(text)
    return match and (match.group(1), int(match.group(2) or 0))


def is_of_packet(body, index):
    """Whether the load beside it is of the word behind or before."""
    base, offset = address(body[index][1])
    beside = [address(body[at][1]) for at in (index - 1, index + 1) if 0 <= at < len(body)]
    return (base, offset - 8) in beside[:1] or (base, offset + 8) in beside[-1:]


def problems_of(name, body):
    found = {what for what, pattern in FINDS.items() for _, text in body if pattern.match(text)}
    short = next((each for each in EXPECTED if re.search(rf"\d{each}[^a-z]", name)), None)
    needs = EXPECTED.get(short, set())
    for what in sorted(needs - found):
        yield body[0][0], f"{short} has no {what}"
    for what in sorted(found - needs - {ACQUIRE}):
        yield body[0][0], f"{short or name} has a {what}, of which tests/hip_assembly does not know"
    for index, (number, text) in enumerate(body):
        if text.startswith("buffer_wbl2") and (line := unwaited(body, index)):
            yield number, f"{short or name}: nothing waits for the write-back before line {line}"
        if ACQUIRE not in needs or not WORD_LOAD.match(text) or is_of_packet(body, index):
            continue
        if line := not_invalidated(body, index):
            yield number, f"{short}: no caches are invalidated before line {line}"


def main():
    paths = [pathlib.Path(each) for each in sys.argv[1:]]
    seen, problems = set(), []
    for path in paths:
        for name, body in kernels(path):
            seen |= {each for each in EXPECTED if re.search(rf"\d{each}[^a-z]", name)}
            problems += [f"{path}:{line}: {text}" for line, text in problems_of(name, body)]
    problems += [f"no kernel of the name {each}" for each in EXPECTED if each not in seen]
    print("\n".join(problems) if problems else f"the assembly of {len(paths)} files is as expected")
    return 1 if problems else 0


sys.exit(main())
