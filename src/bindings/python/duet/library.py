"""libduet by ctypes: declarations of duet.h, loaded when they are first needed."""
import ctypes
import os
import sysconfig
import threading
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char, c_char_p, c_double, c_int32, c_int64,
                    c_size_t, c_uint32, c_uint64, c_void_p)

from .errors import BY_STATUS, Error, Unavailable

MAJOR, MINOR = 0, 2  # of the library that this package belongs to

BROADCAST = CFUNCTYPE(None, c_void_p, c_void_p, c_uint64, POINTER(c_uint64), POINTER(c_int32))
RANK_FUNCTION = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(c_int32))


class _Sized(Structure):
    """A struct of duet.h, whose first field is its size."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.size = ctypes.sizeof(self)


class Bootstrap(_Sized):
    _fields_ = [("size", c_uint64), ("index", c_int32), ("count", c_int32), ("has_local", c_int32),
                ("local_index", c_int32), ("one_node", c_int32), ("port", c_int32),
                ("broadcast", BROADCAST), ("user", c_void_p), ("address", c_char_p),
                ("token", c_char_p)]


class CommOptions(_Sized):
    _fields_ = [("size", c_uint64), ("device", c_char_p), ("engine", c_char_p),
                ("bootstrap", POINTER(Bootstrap)), ("deadline", c_double), ("port", c_int32),
                ("node_size", c_int32)]


class CommInfo(_Sized):
    _fields_ = [("size", c_uint64), ("ranks", c_int32), ("local_ranks", c_int32),
                ("first_local", c_int32), ("reserved", c_int32)]


class RankInfo(_Sized):
    _fields_ = [("size", c_uint64), ("index", c_int32), ("local", c_int32), ("ordinal", c_int32),
                ("cpu_addressable", c_int32), ("kind", c_char * 16), ("model", c_char * 64)]


class Collective(_Sized):
    _fields_ = [("size", c_uint64), ("kind", c_int32), ("dtype", c_int32), ("op", c_int32),
                ("root", c_int32), ("count", c_uint64), ("counts", POINTER(c_uint64)),
                ("counts_length", c_uint64), ("ring", c_int32), ("row_ranges", c_int32),
                ("row_columns", c_uint64), ("row_sums", c_int32), ("row_streams", c_int32),
                ("norm_columns", c_uint64), ("norm_epsilon", c_double)]


class Buffers(_Sized):
    _fields_ = [("size", c_uint64), ("send", c_void_p), ("send_bytes", c_uint64), ("recv", c_void_p),
                ("recv_bytes", c_uint64), ("residual", c_void_p), ("residual_bytes", c_uint64),
                ("updated", c_void_p), ("updated_bytes", c_uint64), ("weight", c_void_p),
                ("weight_bytes", c_uint64)]


class Rows(_Sized):
    _fields_ = [("size", c_uint64), ("first", c_uint64), ("count", c_uint64), ("place", c_void_p),
                ("place_bytes", c_uint64), ("adds", c_int32), ("stream", c_int32)]


ROWS_FUNCTION = CFUNCTYPE(None, c_void_p, POINTER(Rows), c_void_p, POINTER(c_int32))

WORK_FUNCTION = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(c_int32))


class OverlapWork(_Sized):
    _fields_ = [("size", c_uint64), ("workgroups", c_double), ("call", c_void_p),
                ("enqueue", WORK_FUNCTION), ("user", c_void_p)]


class ExchangeOptions(_Sized):
    _fields_ = [("size", c_uint64), ("tokens", c_int64), ("hidden", c_int64), ("experts", c_int64),
                ("chosen", c_int64), ("dtype", c_int32), ("results_over_rows", c_int32)]


class ExchangeInfo(_Sized):
    _fields_ = [("size", c_uint64), ("tokens", c_void_p), ("routing", c_void_p), ("rows", c_void_p),
                ("offsets", c_void_p), ("results", c_void_p), ("out", c_void_p),
                ("all_routing", c_void_p), ("places", c_void_p), ("most_rows", c_int64),
                ("own_experts", c_int64), ("first_expert", c_int64)]


STRUCTS = {"duet_bootstrap": Bootstrap, "duet_comm_options": CommOptions,
           "duet_comm_info": CommInfo, "duet_rank_info": RankInfo, "duet_collective": Collective,
           "duet_buffers": Buffers, "duet_rows": Rows, "duet_overlap_work": OverlapWork,
           "duet_exchange_options": ExchangeOptions, "duet_exchange_info": ExchangeInfo}

# Result and arguments by name. Handles are c_void_p.
_HANDLE = POINTER(c_void_p)
FUNCTIONS = {
    "duet_version": (c_uint32, []),
    "duet_last_error": (c_char_p, []),
    "duet_text_data": (c_void_p, [c_void_p]),
    "duet_text_length": (c_size_t, [c_void_p]),
    "duet_text_free": (None, [c_void_p]),
    "duet_comm_open": (c_int32, [POINTER(CommOptions), _HANDLE]),
    "duet_comm_close": (c_int32, [c_void_p]),
    "duet_comm_abandon": (None, [c_void_p]),
    "duet_comm_get_info": (c_int32, [c_void_p, POINTER(CommInfo)]),
    "duet_comm_failure": (c_int32, [c_void_p, _HANDLE]),
    "duet_comm_interrupt": (c_int32, [c_void_p]),
    "duet_comm_rank": (c_int32, [c_void_p, c_int32, _HANDLE]),
    "duet_comm_each": (c_int32, [c_void_p, RANK_FUNCTION, c_void_p]),
    "duet_comm_divide": (c_int32, [c_void_p, POINTER(c_int32), c_int32, _HANDLE]),
    "duet_groups_rank": (c_int32, [c_void_p, c_void_p, _HANDLE]),
    "duet_groups_close": (None, [c_void_p]),
    "duet_rank_get_info": (c_int32, [c_void_p, POINTER(RankInfo)]),
    "duet_barrier": (c_int32, [c_void_p, c_char_p, c_double]),
    "duet_allocate": (c_int32, [c_void_p, c_uint64, _HANDLE]),
    "duet_memory_data": (c_void_p, [c_void_p]),
    "duet_memory_bytes": (c_uint64, [c_void_p]),
    "duet_memory_write": (c_int32, [c_void_p, c_uint64, c_void_p, c_uint64]),
    "duet_memory_read": (c_int32, [c_void_p, c_uint64, c_void_p, c_uint64]),
    "duet_memory_free": (None, [c_void_p]),
    "duet_stream_open": (c_int32, [c_void_p, _HANDLE]),
    "duet_stream_native": (c_void_p, [c_void_p]),
    "duet_stream_synchronize": (c_int32, [c_void_p, c_double]),
    "duet_stream_close": (None, [c_void_p]),
    "duet_sizes": (c_int32, [POINTER(Collective), c_int32, c_int32, POINTER(c_uint64),
                             POINTER(c_uint64)]),
    "duet_plan": (c_int32, [c_void_p, POINTER(Collective), c_void_p, c_uint64, c_void_p, c_uint64,
                            _HANDLE]),
    "duet_plan_buffers": (c_int32, [c_void_p, POINTER(Collective), POINTER(Buffers), _HANDLE]),
    "duet_enqueue": (c_int32, [c_void_p, c_void_p]),
    "duet_enqueue_on": (c_int32, [c_void_p, c_void_p]),
    "duet_call_takes_buffers": (c_int32, [c_void_p]),
    "duet_enqueue_at": (c_int32, [c_void_p] * 7),
    "duet_enqueue_at_on": (c_int32, [c_void_p] * 7),
    "duet_enqueue_rows": (c_int32, [c_void_p, c_void_p, ROWS_FUNCTION, c_void_p]),
    "duet_enqueue_rows_on": (c_int32, [c_void_p, c_void_p, ROWS_FUNCTION, c_void_p]),
    "duet_call_algorithm": (c_char_p, [c_void_p]),
    "duet_retire": (c_int32, [c_void_p, c_void_p]),
    "duet_call_drop": (None, [c_void_p]),
    "duet_overlap_open": (c_int32, [c_void_p, c_char_p, c_int32, _HANDLE]),
    "duet_overlap_begin": (c_int32, [c_void_p, c_void_p, c_void_p]),
    "duet_overlap_begin_on": (c_int32, [c_void_p, c_void_p, c_void_p]),
    "duet_overlap_end": (c_int32, [c_void_p]),
    "duet_overlap_enqueue": (c_int32, [c_void_p, POINTER(OverlapWork), c_int32, c_void_p]),
    "duet_overlap_enqueue_on": (c_int32, [c_void_p, POINTER(OverlapWork), c_int32, c_void_p]),
    "duet_overlap_close": (None, [c_void_p]),
    "duet_overlap_engine": (c_int32, [c_char_p, c_char_p, _HANDLE]),
    "duet_exchange_open": (c_int32, [c_void_p, POINTER(ExchangeOptions), _HANDLE]),
    "duet_exchange_get_info": (c_int32, [c_void_p, POINTER(ExchangeInfo)]),
    "duet_exchange_choose": (c_int32, [c_void_p, c_void_p, c_int64, c_int32, c_void_p]),
    "duet_exchange_choose_on": (c_int32, [c_void_p, c_void_p, c_int64, c_int32, c_void_p]),
    "duet_exchange_leave_out": (c_int32, [c_void_p, c_int64, c_void_p]),
    "duet_exchange_leave_out_on": (c_int32, [c_void_p, c_int64, c_void_p]),
    "duet_exchange_dispatch": (c_int32, [c_void_p, c_void_p]),
    "duet_exchange_dispatch_on": (c_int32, [c_void_p, c_void_p]),
    "duet_exchange_combine": (c_int32, [c_void_p, c_void_p]),
    "duet_exchange_combine_on": (c_int32, [c_void_p, c_void_p]),
    "duet_exchange_retire": (c_int32, [c_void_p, c_void_p]),
    "duet_exchange_drop": (None, [c_void_p]),
    "duet_verdicts": (c_int32, [c_char_p, c_char_p, c_size_t, _HANDLE]),
}

_lock = threading.Lock()
_library = None


def installed(*parts):
    """A file of Duet's installation, which is within the package (a wheel), or has the package in
    its lib/python3/dist-packages; None where it has none."""
    own = os.path.dirname(os.path.abspath(__file__))
    for prefix in (os.path.join(own, "_installed"), os.path.join(own, *[os.pardir] * 4)):
        path = os.path.normpath(os.path.join(prefix, *parts))
        if os.path.exists(path):
            return path
    return None


def _path():
    name = f"libduet.so.{MAJOR}.{MINOR}"
    folders = ("lib", "lib64", os.path.join("lib", sysconfig.get_config_var("MULTIARCH") or "lib"))
    found = [path for path in (installed(folder, name) for folder in folders) if path]
    return os.environ.get("DUET_LIBRARY") or (found[0] if found else name)


def library():
    """The library with its functions declared. Raises Unavailable where it cannot be loaded, or is
    of another version."""
    global _library
    if _library is not None:  # also in a child that was forked while another thread had the lock
        return _library
    with _lock:
        if _library is not None:
            return _library
        path = _path()
        try:
            loaded = ctypes.CDLL(path)
            for name, (result, arguments) in FUNCTIONS.items():
                function = getattr(loaded, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            raise Unavailable(f"{path} cannot be loaded: {error}: expected libduet {MAJOR}.{MINOR}, "
                              "or its path in DUET_LIBRARY") from None
        found = loaded.duet_version()
        if found // 100 != MAJOR * 100 + MINOR:
            raise Unavailable(f"{path}: version {found // 10000}.{found // 100 % 100}: expected "
                              f"{MAJOR}.{MINOR}")
        _library = loaded
        return loaded


def version() -> str:
    """The library's version, as "0.1.0"."""
    found = library().duet_version()
    return f"{found // 10000}.{found // 100 % 100}.{found % 100}"


def check(status):
    """Raises the error of a status that is not 0."""
    if status != 0:
        raise BY_STATUS.get(status, Error)(library().duet_last_error().decode(errors="replace"))


def text_of(handle):
    """The text behind a handle, which is freed."""
    of = library()
    try:
        length = of.duet_text_length(handle)
        return ctypes.string_at(of.duet_text_data(handle), length).decode() if length else ""
    finally:
        of.duet_text_free(handle)


def verdicts(name, text):
    """A JSON object a line for each result that counts."""
    made = c_void_p()
    check(library().duet_verdicts(name.encode(), text, len(text), byref(made)))
    return text_of(made)
