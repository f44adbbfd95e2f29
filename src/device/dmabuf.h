#pragma once

#include <unistd.h>

#include <cstdint>
#include <utility>

namespace duet {

// Device memory as a dmabuf: a file descriptor by which other drivers, such as those of NICs,
// access the memory. Move-only. The destructor closes the descriptor; importers do not need it
// after the import.
class Dmabuf {
 public:
  // Takes ownership of the descriptor. `offset`: where the memory begins in the dmabuf, in bytes.
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
