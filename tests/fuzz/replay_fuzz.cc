// Feeds mutants of traces to `duet replay`'s readers, which may throw UsageError and nothing else.
// What they accept must be calls that can be planned and listed.
//
//     replay_fuzz CORPUS COUNT
#include "core/error.h"
#include "reader_fuzz.h"
#include "replay/replay_step.h"
#include "replay/trace_reader.h"

namespace duet {
namespace {

bool accepts(const std::string& text) {
  RecordedTrace trace;
  try {
    trace = part_of(read_trace("mutant", text), {});
  } catch (const UsageError&) {
    return false;
  }
  found_text("mutant", trace);
  for (const int ranks : {2, 7}) {
    for (const ReplayCollective& each : replay_step(trace, ranks).collectives)
      check(each.collective, ranks);
  }
  return true;
}

}  // namespace
}  // namespace duet

int main(int argc, char** argv) { return duet::fuzz_reader(argc, argv, duet::accepts); }
