// Device memory at an address that the CPU follows.
#pragma once

#include <cstddef>

namespace duet {

// Ends with it; the memory must outlive it.
class CpuView {
 public:
  CpuView() = default;
  virtual ~CpuView() = default;
  CpuView(const CpuView&) = delete;
  CpuView& operator=(const CpuView&) = delete;

  virtual std::byte* data() const = 0;
};

}  // namespace duet
