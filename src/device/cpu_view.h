#pragma once

#include <cstddef>

namespace duet {

// A mapping of device memory that the CPU can access. The destructor ends the mapping. The memory
// must outlive this object.
class CpuView {
 public:
  CpuView() = default;
  virtual ~CpuView() = default;
  CpuView(const CpuView&) = delete;
  CpuView& operator=(const CpuView&) = delete;

  virtual std::byte* data() const = 0;
};

}  // namespace duet
