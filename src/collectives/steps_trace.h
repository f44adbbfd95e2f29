// When the steps of a call ran, as a record that `duet trace` shows.
#pragma once

#include <string>
#include <vector>

#include "collectives/call_timeline.h"
#include "results/record.h"
#include "results/trace.h"

namespace duet {

// The benchmark of these records.
inline constexpr const char* kStepsBenchmark = "collective_steps";

// By rank. Its curves are the begins and ends of the steps of a stream that have one text.
Record steps_record(const std::string& device, const std::string& engine, const Axes& axes,
                    const std::vector<std::vector<CallTimeline::Step>>& steps);

// RecordKind::trace of these records: a lane for each stream of each rank.
Trace trace_of_steps(const Record& record);

}  // namespace duet
