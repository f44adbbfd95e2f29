// A round of a soak as a record of a journal, and back, so that a run can be resumed and judged as
// a whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record.h"
#include "soak/round.h"

namespace duet {

inline constexpr const char* kSoakBenchmark = "soak";
// Cost::more and metric: bytes that were compared with what they should be.
inline constexpr const char* kComparedBytes = "compared_bytes";

// `devices`: names, in the machine's order.
Record record_of(const SoakRound& round, const std::string& machine,
                 const std::vector<std::string>& devices);
// nullopt for a record of another benchmark. The plan is not read back, and of sensors only what
// limited clocks.
std::optional<SoakRound> soak_round_of(const Record& record,
                                       const std::vector<std::string>& devices);

}  // namespace duet
