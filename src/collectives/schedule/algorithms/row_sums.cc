#include "collectives/schedule/algorithms/row_sums.h"

#include <algorithm>
#include <utility>

#include "collectives/partition.h"

namespace duet {

RowSumsWriter::RowSumsWriter(const AlgorithmInput& input, std::vector<SemaphoreGroup> own)
    : input_(input), writer_(schedule_), asked_(index_of(input.ranks), false) {
  schedule_.rank = input.rank;
  schedule_.ranks = input.ranks;
  schedule_.semaphores = {{"ready"}, {"done"}};
  schedule_.semaphores.insert(schedule_.semaphores.end(), own.begin(), own.end());
  schedule_.pushes_to_recv = schedule_.multiplies_rows = true;
  int chunks = 0;
  for (int rank = 0; rank < input.ranks; ++rank) chunks += ranges_of(rank).empty() ? 0 : 1;
  if (chunks > 1 && input.copying.count > 1) streams_ = input.collective.rows.streams;
  writer_.fork(kLane + 1, streams_ - 1);
}

Place RowSumsWriter::place_of(const RowBlock& range, int chunk, int at) const {
  const std::uint64_t bytes = row_bytes(input_.collective);
  const bool is_alone = chunk == at && !sends_to_all();  // recv has these rows alone
  const std::uint64_t first = is_alone ? rows_of(input_.collective, chunk, input_.ranks).first : 0;
  return {chunk == at ? BufferRole::recv : BufferRole::send, at, (range.first - first) * bytes,
          range.count * bytes};
}

std::vector<RowBlock> RowSumsWriter::ranges_of(int chunk) const {
  return duet::ranges_of(input_.collective, chunk, input_.ranks);
}

void RowSumsWriter::greet(const std::vector<int>& writers) {
  asks_ = true;
  Step step;
  for (const int each : writers) step.signals.push_back({kReady, each, input_.rank, 0});
  if (step.signals.empty()) return;
  // Many signals would delay the first multiplication on the caller's stream.
  greets_aside_ = step.signals.size() > 1;
  if (greets_aside_) {
    writer_.fork(kLane, 1);
    step.lane = kLane;
  }
  writer_.add(std::move(step));
}

int RowSumsWriter::multiply(const RowBlock& range, int chunk, bool adds,
                            std::vector<SemaphoreAt> waits) {
  const int lane = streams_ == 2 && multiplied_++ % 2 == 1 ? kLane + 1 : 0;
  if (!waits.empty()) {
    Step wait;
    wait.lane = lane;
    wait.waits = std::move(waits);
    writer_.add(std::move(wait));
  }
  Step step;
  step.lane = lane;
  step.rows = StepRows{range, place_of(range, chunk, input_.rank), adds};
  const int made = writer_.add(std::move(step));
  if (lane != 0) beside_ = made;
  return made;
}

void RowSumsWriter::push(int behind, const Place& from, const Place& to,
                         std::vector<SemaphoreAt> signals) {
  Step step;
  step.lane = kLane;
  if (behind != behind_) step.after = {behind};
  behind_ = behind;
  if (asks_ && !asked_[index_of(to.rank)]) step.waits = {{kReady, input_.rank, to.rank, 0}};
  asked_[index_of(to.rank)] = true;
  step.copies = {{to, from, input_.copying.executor, {}}};
  step.signals = std::move(signals);
  writer_.add(std::move(step));
}

void RowSumsWriter::send_to_all(int behind, const RowBlock& range, bool is_last) {
  const Place own = place_of(range, input_.rank, input_.rank);
  for (int step = 1; sends_to_all() && step < input_.ranks; ++step) {
    Place there = own;
    there.rank = (input_.rank + step) % input_.ranks;
    std::vector<SemaphoreAt> done;
    if (is_last) done = {{kDone, there.rank, input_.rank, 0}};
    push(behind, own, there, std::move(done));
  }
}

void RowSumsWriter::end() {
  std::vector<SemaphoreAt> done;
  for (int step = 1; sends_to_all() && step < input_.ranks; ++step) {
    const int from = (input_.rank + step) % input_.ranks;
    if (!ranges_of(from).empty()) done.push_back({kDone, input_.rank, from, 0});
  }
  // What is behind the last multiplication on the second stream joins that as well.
  const bool joined =
      std::any_of(schedule_.steps.begin(), schedule_.steps.end(), [this](const Step& step) {
        return std::find(step.after.begin(), step.after.end(), beside_) != step.after.end();
      });
  const int pushing = behind_ >= 0 || greets_aside_ ? 1 : 0,
            beside = beside_ >= 0 && !joined ? 1 : 0;
  if (pushing + beside > 0 || !done.empty())
    writer_.join(pushing > 0 ? kLane : kLane + 1, pushing + beside, std::move(done));
}

}  // namespace duet
