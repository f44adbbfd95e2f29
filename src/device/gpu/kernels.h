// Duet's own kernels: copying, filling, comparing. Launches only; arguments are checked before.
#pragma once

#include "device/command_fifo.h"
#include "device/device.h"
#include "device/gpu/local_kernel_table.h"
#include "device/gpu/packet_kernel_table.h"
#include "device/gpu/peer_kernel_table.h"
#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// Load the kernels on the current device. Loading at the first launch may have to wait for the
// device to be idle, and dead-locks where a stream waits for what that launch would release.
void load_copy_kernels();
void load_fill_kernels();
void load_digit_kernels();
void load_local_kernels();
void load_peer_kernels();
void load_packet_kernels();
void load_push_kernel();

// The shape's grid must be set, and its block unless it is thin. Addresses and size may be odd.
void launch_copy(const Copy& copy, gpuStream_t stream);

// Elements of a normal fill and of digits must be aligned to their size; bytes after the last whole
// one stay.
void launch_fill(const Span& span, const Fill& fill, gpuStream_t stream);

// Adds to found->count and lowers found->first_offset; `found` is in device memory.
void launch_check(const Span& span, const Fill& fill, Difference* found, gpuStream_t stream);

// The same two for digits, which launch_fill() and launch_check() hand on.
void launch_digits(const Span& span, const Fill& fill, gpuStream_t stream);
void launch_digits_check(const Span& span, const Fill& fill, Difference* found, gpuStream_t stream);

// What tables point to is device memory. Blocks that wait for others must all be able to run at
// once.
void launch_local_kernel(const gpu::LocalKernelTable& table, DType dtype, Reduction op, int blocks,
                         gpuStream_t stream);
void launch_peer_kernel(const gpu::FewPeersTable& table, DType dtype, Reduction op, int blocks,
                        gpuStream_t stream);
void launch_peer_kernel(const gpu::ManyPeersTable& table, DType dtype, Reduction op, int blocks,
                        gpuStream_t stream);
// Reduces what comes where `reduces` says so, else it only moves.
void launch_packet_kernel(const gpu::PacketKernelTable& table, bool reduces, DType dtype,
                          Reduction op, int blocks, gpuStream_t stream);

// The words must be within reach of the device.
void launch_pushes(const CommandPushes& pushes, gpuStream_t stream);

}  // namespace duet::DUET_GPU
