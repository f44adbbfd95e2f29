// Launch functions of Duet's kernels. They do not check their arguments; the callers do.
#pragma once

#include "device/command_fifo.h"
#include "device/device.h"
#include "device/gpu/local_kernel_table.h"
#include "device/gpu/packet_table.h"
#include "device/gpu/peer_kernel_table.h"
#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// Load the kernels on the current device. Without this the runtime would load a kernel at its first
// launch and might wait until the device is idle. That is a deadlock if a stream waits for a
// semaphore which the launched kernel would signal.
void load_copy_kernels();
void load_fill_kernels();
void load_digit_kernels();
void load_local_kernels();
void load_peer_kernels();
void load_packet_kernels();
bool load_norm_kernels();  // returns whether blocks can share a row
void load_push_kernel();

// The launch shape must have a grid and, unless it is one warp per SM, a block. Addresses and size
// need no alignment.
void launch_copy(const Copy& copy, gpuStream_t stream);

// For normal fills and digits, elements must be aligned to their size. Bytes after the last whole
// element are not changed.
void launch_fill(const Span& span, const Fill& fill, gpuStream_t stream);

// Adds to found->count and lowers found->first_offset; `found` is in device memory.
void launch_check(const Span& span, const Fill& fill, Difference* found, gpuStream_t stream);

// Likewise where the spans, of equal size, differ. They need no alignment.
void launch_compare(const Span& span, const Span& other, Difference* found, gpuStream_t stream);

// launch_fill() and launch_check() for digits; those two functions call them.
void launch_digits(const Span& span, const Fill& fill, gpuStream_t stream);
void launch_digits_check(const Span& span, const Fill& fill, Difference* found, gpuStream_t stream);

// All pointers in the tables are to device memory. Blocks that wait for other blocks must all fit
// on the device at once.
void launch_local_kernel(const gpu::LocalKernelTable& table, DType dtype, Reduction op, int blocks,
                         gpuStream_t stream);
void launch_peer_kernel(const gpu::FewPeersTable& table, DType dtype, Reduction op, int blocks,
                        gpuStream_t stream);
void launch_peer_kernel(const gpu::ManyPeersTable& table, DType dtype, Reduction op, int blocks,
                        gpuStream_t stream);
void launch_packet_kernel(const gpu::PacketKernelTable& table, const gpu::PacketUse& use,
                          gpuStream_t stream);
// Normalises the sum, too.
void launch_packet_norm_kernel(const gpu::PacketKernelTable& table, const gpu::PacketUse& use,
                               gpuStream_t stream);
void launch_norm_kernel(const gpu::NormTable& table, DType dtype, unsigned most_blocks,
                        gpuStream_t stream);

// The device must be able to access all memory in `pushes`.
void launch_pushes(const CommandPushes& pushes, gpuStream_t stream);

}  // namespace duet::DUET_GPU
