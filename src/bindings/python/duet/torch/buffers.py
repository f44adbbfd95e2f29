"""Memory of Duet's that is also a tensor."""
import ctypes

import torch

from ..arrays import Place, interface_of

DTYPES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.int8: "int8",
          torch.uint8: "int8", torch.int32: "int32"}
NORMED = (torch.float32, torch.float16, torch.bfloat16)
SUMMED = (*NORMED, torch.int32)


class Buffer:
    """Bytes that tensors share, and which live as long as one of them. Then they go to `released`,
    whose owner frees them when the device no longer uses them."""

    def __init__(self, rank, size, released):
        self.memory, self._released = rank.empty(size), released
        self.address, self.bytes = self.memory.address, self.memory.bytes

    def tensor(self, shape, dtype, device):
        return tensor_at(self, shape, dtype, device)

    def __del__(self):
        if hasattr(self, "memory"):
            self._released.append(self.memory)


class _Bytes:
    """Bytes of a GPU, as torch.as_tensor() takes them; the tensor keeps this."""

    def __init__(self, owner):
        self.owner, self.__cuda_array_interface__ = owner, interface_of(owner.address, (owner.bytes,), "int8")


def tensor_at(memory, shape, dtype, device):
    """A tensor in all of a memory (address, bytes), which it keeps."""
    if device.type == "cpu":
        raw = type("Bytes", (ctypes.c_char * memory.bytes,), {}).from_address(memory.address)
        raw.buffer = memory  # the tensor keeps `raw`
        flat = torch.frombuffer(raw, dtype=torch.int8)
    else:
        flat = torch.as_tensor(_Bytes(memory), device=device)
    return flat.view(dtype).view(shape)


def place_of(buffer, tensor, moves):
    """The Place of a contiguous tensor in a buffer. What only `moves` may be of any type."""
    dtype = DTYPES.get(tensor.dtype)
    count = tensor.numel()
    if dtype is None and moves:
        dtype, count = "int8", count * tensor.element_size()
    return Place(tensor.data_ptr(), count, dtype, buffer)
