"""The library's errors, each with one line that names what was expected."""


class Error(RuntimeError):
    """Of a driver or a library; the base of the others, but Interrupted."""


class UsageError(Error, ValueError):
    """A device, engine, flag or variable that does not exist, or a file that is no journal."""


class BadArgument(Error, ValueError):
    """Wrong sizes or types, a closed object, or ranks in different calls."""


class Unavailable(Error):
    """Not possible on these devices, or a library or program that is missing."""


class OutOfMemory(Error, MemoryError):
    """A device's memory."""


class Timeout(Error, TimeoutError):
    """A wait passed its deadline; the text says what it waited for."""


class PeerFailed(Error, ConnectionError):
    """Another rank or process failed or died."""


class Interrupted(KeyboardInterrupt):
    """What waited for other ranks was interrupted."""


# By the numbers of duet.h.
BY_STATUS = {1: Error, 2: UsageError, 3: BadArgument, 4: Unavailable, 5: OutOfMemory, 6: Timeout,
             7: PeerFailed, 8: Interrupted}
