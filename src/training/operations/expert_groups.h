// Which experts a token chooses (ChooseExperts), and which entries its choices make (GroupRows).
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "training/operations/operation.h"

namespace duet {

struct ExpertGroups {
  std::int32_t first, groups, per_group;
  int chosen;
  bool once;

  // -1: none.
  DUET_HOST_DEVICE int group(std::int32_t choice) const {
    if (choice < first) return -1;
    const std::int32_t at = per_group == 1 ? choice - first : (choice - first) / per_group;
    return at < groups ? at : -1;
  }
  // Whether a choice before choice j of a token is in the same group, `own`.
  DUET_HOST_DEVICE bool repeats(const std::int32_t* choices, int j, int own) const {
    for (int before = 0; before < j; ++before) {
      if (group(choices[before]) == own) return true;
    }
    return false;
  }
  // Whether choice j of a token is an entry; of those that become one entry, the first one is.
  DUET_HOST_DEVICE bool begins_entry(const std::int32_t* choices, int j) const {
    const int own = group(choices[j]);
    return own >= 0 && !(once && repeats(choices, j, own));
  }
};

inline ExpertGroups groups_of(const GroupRows& o) {
  return {static_cast<std::int32_t>(o.first), static_cast<std::int32_t>(o.groups),
          static_cast<std::int32_t>(o.per_group), static_cast<int>(o.chosen), o.once};
}

// ChooseExperts of one token.
void choose(const float* logits, std::int64_t experts, std::int64_t chosen, bool normalised,
            std::int32_t* choices, float* weights);

}  // namespace duet
