#include "workload/workload.h"

#include <algorithm>

namespace duet {

const std::vector<const Workload*>& workloads() {
#define DUET_WORKLOAD(name) &name##_workload(),
  static const std::vector<const Workload*> all = {
#include "workload/list.h"
  };
#undef DUET_WORKLOAD
  return all;
}

const std::vector<RecordKind>& record_kinds() {
  static const std::vector<RecordKind> all = [] {
    std::vector<RecordKind> kinds;
    for (const Workload* workload : workloads()) {
      kinds.insert(kinds.end(), workload->records.begin(), workload->records.end());
    }
    return kinds;
  }();
  return all;
}

const RecordKind& record_kind(std::string_view benchmark) {
  static const RecordKind unknown;
  const std::vector<RecordKind>& all = record_kinds();
  const auto known = std::find_if(
      all.begin(), all.end(), [&](const RecordKind& kind) { return kind.benchmark == benchmark; });
  return known == all.end() ? unknown : *known;
}

}  // namespace duet
