"""The program `duet`, run as another process."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from .errors import BY_STATUS, Error, Unavailable
from .journal import Journal, Record, parse
from .library import installed


def program() -> str:
    """The path of the program: DUET_PROGRAM, the package's own, or the one in PATH."""
    own = installed("bin", "duet")
    path = os.environ.get("DUET_PROGRAM") or (own if own else shutil.which("duet"))
    if not path:
        raise Unavailable("the program duet was not found: expected it in PATH, or DUET_PROGRAM")
    return path


def command_line(command, words, flags):
    """The words of a command line: `minbytes="64K"` becomes `--minbytes 64K`, True `--flag`, False
    `--no-flag`, a list its elements with commas."""
    line = [command, *map(str, words)]
    for name, value in flags.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None:
            continue
        if value is True:
            line.append(flag)
        elif value is False:
            line.append("--no-" + flag[2:])
        elif isinstance(value, (list, tuple)):
            line += [flag, ",".join(map(str, value))]
        else:
            line += [flag, str(value)]
    return line


def run(command: str, *words: object, check: bool = True,
        on_record: Callable[[Record], object] | None = None, **flags: Any) -> Journal:
    """Runs a command of the program, and returns its Journal.

    `words` and `flags` are those of docs/cli.md; `on_record(record)` is called with each result as
    soon as it is there. Raises what the program says: UsageError for exit code 2, Error for 1, but
    not with check=False. After Ctrl-C the program ends its case, and KeyboardInterrupt has the
    journal so far as `journal`.

    >>> import duet
    >>> journal = duet.run("gemm", device="sim:h200", shapes="8192x8192x8192")
    >>> [record["outcome"] for record in journal]
    ['measured']
    """
    full = [program(), *command_line(command, words, flags)]
    reading, writing = os.pipe()
    line = [*full, "--json", f"/dev/fd/{writing}", "--quiet"]
    try:
        process = subprocess.Popen(line, pass_fds=(writing,), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        os.close(reading)
        raise Unavailable(f"{line[0]} cannot be run: {error.strerror}") from None
    finally:
        os.close(writing)
    said: list[bytes] = []
    lines: list[bytes] = []
    listener = threading.Thread(target=_listen, args=(process.stderr, said), daemon=True)
    listener.start()
    with os.fdopen(reading, "rb") as stream:
        try:
            _collect(stream, lines, on_record)
            status = process.wait()
        except BaseException as error:
            _stop(process, stream, lines)
            if isinstance(error, KeyboardInterrupt):
                error.journal = _journal(lines)  # type: ignore[attr-defined]
            raise
    listener.join()
    if check and status != 0:
        raise _error(status, b"".join(said).decode(errors="replace"), full)
    return _journal(lines)


def _listen(stream, said):
    with stream:
        said.extend(stream)


def _collect(stream, lines, on_record):
    for line in stream:
        lines.append(line)
        if on_record is not None:
            for record in parse(line):
                on_record(record)


def _stop(process, stream, lines):
    """Ends the program as Ctrl-C does, and takes what it still writes; at a second one at once."""
    try:
        process.send_signal(signal.SIGINT)
        _collect(stream, lines, None)
        process.wait(30)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _journal(lines):
    return parse(b"".join(lines)) if lines else Journal()


def _error(status, said, line):
    text = said.strip().splitlines()
    kind = BY_STATUS.get(status, Error) if status == 2 else Error
    return kind(text[-1] if text else f"{' '.join(line[1:])}: exit code {status}")
