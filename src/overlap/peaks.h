#pragma once

#include <map>

#include "core/dtype.h"
#include "core/names.h"

namespace duet {

// Peak rates of one device as its maker states them; 0 or missing: not known.
struct DevicePeaks {
  std::map<DType, double> flop_per_s;  // dense
  double memory_bytes_per_s = 0;
  double link_bytes_per_s = 0;  // in one direction, all links together
};

// What limits a GEMM: its ratio of FLOP to bytes, compared with the device's ratio of peak rates.
enum class BoundClass { compute, memory };
inline const char* name(BoundClass bound) {
  constexpr NamedValue<BoundClass> kNames[] = {{BoundClass::compute, "compute-bound"},
                                               {BoundClass::memory, "memory-bound"}};
  return name_of(kNames, bound);
}

}  // namespace duet
