#include "collectives/schedule/algorithms/row_sums.h"

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
  if (!step.signals.empty()) writer_.add(std::move(step));
}

int RowSumsWriter::multiply(const RowBlock& range, int chunk, bool adds) {
  Step step;
  step.rows = StepRows{range, place_of(range, chunk, input_.rank), adds};
  return writer_.add(std::move(step));
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
  const bool pushes = behind_ >= 0;
  if (pushes || !done.empty()) writer_.join(kLane, pushes ? 1 : 0, std::move(done));
}

}  // namespace duet
