"""Memory of Duet's that is also a tensor."""
import ctypes

import torch

from ..arrays import Place

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

    @property
    def __cuda_array_interface__(self):
        return self.memory.__cuda_array_interface__

    def tensor(self, shape, dtype, device):
        if device.type == "cpu":
            raw = type("Bytes", (ctypes.c_char * self.bytes,), {}).from_address(self.address)
            raw.buffer = self  # the tensor keeps `raw`
            flat = torch.frombuffer(raw, dtype=torch.int8)
        else:
            flat = torch.as_tensor(self, device=device)
        return flat.view(dtype).view(shape)

    def __del__(self):
        if hasattr(self, "memory"):
            self._released.append(self.memory)


def place_of(buffer, tensor, moves):
    """The Place of a contiguous tensor in a buffer. What only `moves` may be of any type."""
    dtype = DTYPES.get(tensor.dtype)
    count = tensor.numel()
    if dtype is None and moves:
        dtype, count = "int8", count * tensor.element_size()
    return Place(tensor.data_ptr(), count, dtype, buffer)
