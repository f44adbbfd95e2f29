// Device memory as a file descriptor, by which drivers of NICs and others reach it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <utility>

namespace duet {

// Move-only; closes its descriptor, which whoever has imported it does not need any more.
class Dmabuf {
 public:
  // `offset`: of the memory in what the descriptor stands for.
  Dmabuf(int descriptor, std::uint64_t offset) : descriptor_(descriptor), offset_(offset) {}
  Dmabuf(Dmabuf&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), offset_(other.offset_) {}
  Dmabuf& operator=(Dmabuf&&) = delete;
  ~Dmabuf() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }
  std::uint64_t offset() const { return offset_; }

 private:
  int descriptor_;
  std::uint64_t offset_;
};

}  // namespace duet
