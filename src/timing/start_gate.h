// Holds every rank's stream on its device until all ranks have enqueued, and releases them with
// one write, so that launch latency and the ranks' own skew stay out of the figures.
#pragma once

#include <cstdint>

#include "team/team.h"

namespace duet {

class StartGate {
 public:
  // One word of pinned memory of rank 0's device, which every device of the machine can read.
  explicit StartGate(Team& team);
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;

  // Inside Team::each(), by every rank. Later work of the stream waits for the next release().
  void hold(Rank& rank, Stream& stream);
  // Meets the other ranks, then lets all streams go.
  void release(Rank& rank, double deadline_seconds);
  // Opens the gate for good, so that no stream is left waiting after a failure.
  void open() noexcept;

 private:
  Team& team_;
  Buffer word_;
  std::uint64_t round_ = 0;  // written by rank 0 between two meetings of all ranks
};

}  // namespace duet
