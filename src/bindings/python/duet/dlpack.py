"""DLPack: arrays that packages lend each other, as capsules around a DLManagedTensor
(https://dmlc.github.io/dlpack), of which this is the form before version 1."""
import ctypes
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

from .errors import BadArgument

CPU, CUDA, ROCM = 1, 2, 10  # kinds of device

_NAME = b"dltensor"  # of a capsule that nobody has consumed
# Code (0: integers, 1: unsigned, 2: IEEE, 4: bfloat) and bits of an element.
_CODES = {"fp32": (2, 32), "fp16": (2, 16), "bf16": (4, 16), "int8": (0, 8), "int32": (0, 32)}
_BY_CODE = {code: dtype for dtype, code in _CODES.items()}
_BY_CODE[1, 8] = "int8"


class _Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", c_int32), ("device_id", c_int32), ("dimensions", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class _Managed(Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _DELETER)]

_capsule_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
# Of a capsule that ends, which must not become an object again.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_in = ctypes.PYFUNCTYPE(c_void_p, c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))

_lent: dict = {}  # what capsules and their consumers use, by the address of the _Managed


def _end(managed, lent=_lent, address=ctypes.addressof):
    lent.pop(address(managed.contents), None)


def _end_unused(capsule, is_valid=_is_valid, pointer_in=_pointer_in, lent=_lent, name=_NAME):
    if is_valid(capsule, name):  # else its consumer calls the deleter
        lent.pop(pointer_in(capsule, name), None)


_deleter, _destructor = _DELETER(_end), ctypes.PYFUNCTYPE(None, c_void_p)(_end_unused)
for _callback in (_deleter, _destructor):  # consumers may call them when this module is gone
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callback))


def capsule_of(address, count, dtype, device, owner):
    """A capsule of `count` elements; `device` is a pair of kind and number. Keeps the owner alive
    until its consumer has done with it."""
    managed, shape = _Managed(), (c_int64 * 1)(count)
    code, bits = _CODES[dtype]
    managed.tensor = _Tensor(address, *device, 1, code, bits, 1, shape, None, 0)
    managed.deleter = _deleter
    where = ctypes.addressof(managed)
    _lent[where] = (managed, shape, owner)
    return _capsule_new(where, _NAME, ctypes.cast(_destructor, c_void_p))


def borrowed(array):
    """Address, count of elements and dtype of an array with __dlpack__, and what keeps it alive."""
    kind, _ = array.__dlpack_device__()
    # -1: its work on streams is ordered with the call by the program.
    try:
        capsule = array.__dlpack__() if kind == CPU else array.__dlpack__(stream=-1)
    except BufferError as error:
        raise BadArgument(str(error)) from None
    tensor = ctypes.cast(_pointer_of(capsule, _NAME), POINTER(_Managed)).contents.tensor
    dtype = _BY_CODE.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise BadArgument(f"elements of {tensor.bits} bits, DLPack's type {tensor.code}: expected "
                          f"{', '.join(_CODES)}")
    count = 1
    for dimension in reversed(range(tensor.dimensions)):
        length = tensor.shape[dimension]
        if tensor.strides and length > 1 and tensor.strides[dimension] != count:
            raise BadArgument("an array that is not contiguous: expected a contiguous one")
        count *= length
    return (tensor.data or 0) + tensor.byte_offset, count, dtype, capsule
