// A call of a layer in stages, and how their exchanges run beside what needs none.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "training/operations/forked_stream.h"
#include "training/operations/step_timeline.h"

namespace duet {

inline constexpr double kMoeDeadline = 120;  // seconds for any wait outside the samples

struct MoePhase {
  std::string name;
  std::function<void(Stream&)> enqueue;
};

// What is computed, what is exchanged of it, and what is computed that does not need this exchange.
// The next stage needs all of it.
struct MoeStage {
  std::vector<MoePhase> compute, exchange, beside;
};
using MoeStages = std::vector<MoeStage>;

enum class MoeOverlap {
  none,    // one after the other
  beside,  // exchanges beside what does not need them
  halves,  // likewise, and one half of the tokens is computed beside the exchanges of the other
};
const char* name(MoeOverlap overlap);
MoeOverlap parse_moe_overlap(const std::string& text);  // throws UsageError
inline std::size_t batches_of(MoeOverlap overlap) { return overlap == MoeOverlap::halves ? 2 : 1; }

// Enqueues stages. With an overlap, exchanges run on a stream of its own, of a higher priority, so
// that their kernels do not wait for all blocks of a product:
//
//   caller's stream:   compute A   compute B   beside       wait   compute A' ...
//   exchanges:               exchange A     exchange B            exchange A' ...
//
// The order is that of the stages on all ranks, as engines of collectives demand it.
class MoeStageRunner {
 public:
  // `priority`: of the caller's stream. The device must outlive it.
  MoeStageRunner(Device& device, MoeOverlap overlap, int priority);

  // The batches' stages, as many of each. The phases of the timeline bear their names, and what the
  // caller's stream waits for exchanges is "wait".
  void enqueue(const std::vector<const MoeStages*>& batches, Stream& stream,
               StepTimeline* timeline = nullptr);

 private:
  std::unique_ptr<ForkedStream> exchanges_;  // nullptr: on the caller's stream
};

// Of the operations that an overlap adds to a launch queue for each stage.
inline constexpr std::size_t kOperationsOfStage = 4;

}  // namespace duet
