#include "timing/work.h"

#include "core/units.h"

namespace duet {

Cost times(const Cost& cost, double iterations) {
  Cost all{iterations * cost.flop, iterations * cost.memory_bytes, iterations * cost.wire_bytes};
  for (const auto& [name, value] : cost.more) {
    all.more.set(name, ends_with(name, "_per_s") ? value : iterations * value);
  }
  return all;
}

}  // namespace duet
