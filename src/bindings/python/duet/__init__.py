"""Duet from Python: journals, the program, and collectives.

    import duet
    journal = duet.read("run.jsonl")
    journal = duet.run("gemm", device="sim:h200", shapes="4096x4096x4096")
    for record in journal:
        print(record["case"], record["rates"])
    with duet.Communicator("host:1") as comm:
        ...

Reading needs nothing but Python; `run` the program `duet`; `Communicator` and `Journal.verdicts()`
the library. The page is docs/python.md.
"""
from .communicator import Call, Communicator, Groups, Memory, Rank, Rows
from .errors import (BadArgument, Error, Interrupted, OutOfMemory, PeerFailed, Timeout, Unavailable,
                     UsageError)
from .exchange import TokenExchange
from .journal import Journal, parse, read
from .library import version
from .overlap import Overlap, overlap_engine
from .program import run
from .streams import Stream

__all__ = ["BadArgument", "Call", "Communicator", "Error", "Groups", "Interrupted", "Journal", "Memory",
           "OutOfMemory", "Overlap", "PeerFailed", "Rank", "Rows", "Stream", "Timeout", "TokenExchange",
           "Unavailable", "UsageError", "overlap_engine", "parse", "read", "run", "version"]
