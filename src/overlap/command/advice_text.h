// The output of `duet advise`.
#pragma once

#include <string>

#include "overlap/advisor/score.h"

namespace duet {

std::string advice_text(const OverlapScenario& scenario, const DeviceTable& table,
                        const Advice& advice);
std::string score_text(const Score& score);

}  // namespace duet
