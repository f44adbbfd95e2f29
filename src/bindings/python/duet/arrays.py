"""Arrays of other packages, as addresses: nothing is imported that the program has not imported."""
import sys

from . import dlpack
from .errors import BadArgument

ITEMSIZE = {"fp32": 4, "fp16": 2, "bf16": 2, "int8": 1, "int32": 4}
_TYPESTR = {"fp32": "<f4", "fp16": "<f2", "bf16": "<u2", "int8": "|i1", "int32": "<i4"}
_BY_TYPESTR = {"f4": "fp32", "f2": "fp16", "i1": "int8", "u1": "int8", "i4": "int32"}
_BY_TORCH = {"torch.float32": "fp32", "torch.float16": "fp16", "torch.bfloat16": "bf16",
             "torch.int8": "int8", "torch.uint8": "int8", "torch.int32": "int32"}


def interface_of(address, shape, dtype):
    """As __cuda_array_interface__ and __array_interface__ have it; bf16 as its 16 bits."""
    return {"shape": shape, "typestr": _TYPESTR[dtype], "data": (address, False), "version": 3}


class Place:
    """An address with the elements that lie there; `count` None: unknown. Keeps its owner alive."""

    def __init__(self, address, count, dtype, owner=None):
        self.address, self.count, self.dtype, self._owner = address, count, dtype, owner
        self.bytes = None if count is None or dtype is None else count * ITEMSIZE[dtype]


def place_of(array, writes=False):
    """The Place of a buffer of Duet's, a PyTorch tensor, an array with an interface of addresses, or
    an address. `writes`: whether it is to be written."""
    if isinstance(array, Place):
        return array
    if isinstance(array, int):
        return Place(array, None, None)
    if hasattr(array, "address") and hasattr(array, "part"):  # Memory
        return array.part(0, array.elements)
    if hasattr(array, "data_ptr"):
        return _place_of_tensor(array)
    for name in ("__cuda_array_interface__", "__array_interface__"):
        interface = getattr(array, name, None)
        if interface is not None:
            return _place_of_interface(array, interface, writes)
    if hasattr(array, "__dlpack__"):
        address, count, dtype, owner = dlpack.borrowed(array)
        return Place(address, count, dtype, owner)
    raise BadArgument(f"{type(array).__name__}: expected memory of Duet, a tensor, an array with "
                      "__cuda_array_interface__ or __dlpack__, or an address")


def _place_of_tensor(tensor):
    dtype = _BY_TORCH.get(str(tensor.dtype))
    if dtype is None:
        raise BadArgument(f"{tensor.dtype}: expected {', '.join(_BY_TORCH)}")
    if not tensor.is_contiguous():
        raise BadArgument("a tensor that is not contiguous: expected tensor.contiguous()")
    return Place(tensor.data_ptr(), tensor.numel(), dtype, tensor)


def _place_of_interface(array, interface, writes):
    dtype = _BY_TYPESTR.get(interface["typestr"][1:])
    if dtype is None or interface["typestr"][0] == ">":
        raise BadArgument(f"elements {interface['typestr']}: expected {', '.join(_BY_TYPESTR)}")
    if writes and interface["data"][1]:
        raise BadArgument("an array that is read-only: expected one that can be written, as recv")
    count, strides = 1, interface.get("strides")
    for length, stride in zip(reversed(interface["shape"]), reversed(strides or interface["shape"])):
        if strides is not None and length > 1 and stride != count * ITEMSIZE[dtype]:
            raise BadArgument("an array that is not contiguous: expected a contiguous one")
        count *= length
    return Place(interface["data"][0], count, dtype, array)


def native_stream(stream, ordinal):
    """A stream as a cudaStream_t; None: PyTorch's current one, if PyTorch is loaded."""
    if stream is None:
        torch = sys.modules.get("torch")
        if torch is None or ordinal < 0 or not torch.cuda.is_initialized():
            return None
        return torch._C._cuda_getCurrentRawStream(ordinal)
    for name in ("cuda_stream", "ptr"):  # PyTorch, CuPy
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return (protocol() if callable(protocol) else protocol)[1]
    raise BadArgument(f"{type(stream).__name__}: expected a stream of Duet, PyTorch, CuPy or "
                      "cuda.core, or a cudaStream_t")
