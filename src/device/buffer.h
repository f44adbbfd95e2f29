// Memory of a device: a Span is a view, a Buffer owns its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace duet {

class Device;

enum class MemoryKind {
  device,    // on the device itself
  pinned,    // host memory that the device's engines reach directly
  managed,   // at one address for CPU and device; pages migrate to the one that uses them
  pageable,  // host memory that the driver has to stage
  peer,      // another process's device memory, mapped by Device::import_memory()
};

const char* name(MemoryKind kind);

// The alignment of `bytes` bytes of host memory. It is a page for a page or more, because pinning
// and copies between processes work by pages, and 4 KiB could otherwise lie in two.
constexpr std::size_t host_alignment(std::uint64_t bytes) { return bytes < 4096 ? 256 : 4096; }

// `data` is an address of the owner (for peer memory, of the device that mapped it). The CPU may
// use it only on host devices and for pinned, managed and pageable memory.
struct Span {
  Device* owner = nullptr;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::device;

  // Throws BadArgument if [offset, offset + length) does not lie in this span.
  Span slice(std::size_t offset, std::size_t length) const;
};

// Owns memory that Device::allocate() made; move-only. The destructor and reset() free the memory.
// By then no stream may use it any more. The device must outlive the buffer.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(Span span) : span_(span) {}
  Buffer(Buffer&& other) noexcept : span_(std::exchange(other.span_, Span{})) {}
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { reset(); }

  const Span& span() const { return span_; }
  Span slice(std::size_t offset, std::size_t length) const { return span_.slice(offset, length); }
  std::size_t bytes() const { return span_.bytes; }
  void reset() noexcept;

 private:
  Span span_;
};

// A 64-bit word in a buffer, aligned to 8 bytes, that streams signal and wait for. A wait ends when
// the word is at least the awaited value.
struct Semaphore {
  Span word;
};

// Word `index` of the buffer. Throws BadArgument outside it.
Semaphore semaphore_at(const Buffer& buffer, std::size_t index);

}  // namespace duet
