#pragma once

#include <cstddef>
#include <vector>

namespace duet::gpu {

// Several lists back to back, to be copied into one device allocation.
class Packed {
 public:
  // Appends a list and returns its offset in bytes.
  template <typename Value>
  std::size_t add(const std::vector<Value>& values) {
    static_assert(sizeof(Value) % 8 == 0, "lists stay aligned to 8 bytes");
    const std::size_t offset = bytes_.size();
    const auto* data = reinterpret_cast<const std::byte*>(values.data());
    bytes_.insert(bytes_.end(), data, data + values.size() * sizeof(Value));
    return offset;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace duet::gpu
