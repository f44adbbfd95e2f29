#include "moe/stages.h"

#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<MoeOverlap> kOverlaps[] = {
    {MoeOverlap::none, "none"}, {MoeOverlap::beside, "beside"}, {MoeOverlap::halves, "halves"}};

void enqueue_phases(const std::vector<MoePhase>& phases, Stream& stream, StepTimeline* timeline) {
  for (std::size_t i = 0; i < phases.size(); ++i) {
    phases[i].enqueue(stream);
    const bool ends = i + 1 == phases.size() || phases[i + 1].name != phases[i].name;
    if (timeline != nullptr && ends) timeline->ended(stream, phases[i].name);
  }
}

}  // namespace

const char* name(MoeOverlap overlap) { return name_of(kOverlaps, overlap); }

MoeOverlap parse_moe_overlap(const std::string& text) {
  return parse_name(kOverlaps, "--overlap: unknown overlap", text);
}

MoeStageRunner::MoeStageRunner(Device& device, MoeOverlap overlap, int priority) {
  if (overlap != MoeOverlap::none)
    exchanges_ = std::make_unique<ForkedStream>(device, StreamOptions{priority + 1, 0});
}

void MoeStageRunner::enqueue(const std::vector<const MoeStages*>& batches, Stream& stream,
                             StepTimeline* timeline) {
  if (exchanges_ != nullptr) exchanges_->set_timeline(timeline);
  std::vector<Event*> exchanged(batches.size());  // of the stage before
  for (std::size_t s = 0; s < batches.front()->size(); ++s) {
    for (std::size_t batch = 0; batch < batches.size(); ++batch) {
      const MoeStage& stage = (*batches[batch])[s];
      if (exchanged[batch] != nullptr) exchanges_->wait(stream, *exchanged[batch]);
      exchanged[batch] = nullptr;
      enqueue_phases(stage.compute, stream, timeline);
      if (stage.exchange.empty()) continue;
      if (exchanges_ == nullptr) {
        enqueue_phases(stage.exchange, stream, timeline);
        continue;
      }
      exchanges_->run(stream, stage.exchange.front().name.c_str(), [&](Stream& own) {
        for (const MoePhase& each : stage.exchange) each.enqueue(own);
      });
      exchanged[batch] = &exchanges_->mark();
    }
    for (const MoeStages* batch : batches) enqueue_phases((*batch)[s].beside, stream, timeline);
  }
  if (exchanges_ != nullptr) exchanges_->join(stream);
}

}  // namespace duet
