// What a device's maker promises, as far as overlaps are judged by it.
#pragma once

#include <map>

#include "core/dtype.h"
#include "core/names.h"

namespace duet {

// Per device; 0 or missing: not known.
struct DevicePeaks {
  std::map<DType, double> flop_per_s;  // dense
  double memory_bytes_per_s = 0;
  double link_bytes_per_s = 0;  // in one direction, all links together
};

// What limits a GEMM, by its FLOP per byte against the device's.
enum class BoundClass { compute, memory };
inline const char* name(BoundClass bound) {
  constexpr NamedValue<BoundClass> kNames[] = {{BoundClass::compute, "compute-bound"},
                                               {BoundClass::memory, "memory-bound"}};
  return name_of(kNames, bound);
}

}  // namespace duet
