// Runs a Work's iterations on every rank's stream, between events.
#pragma once

#include <memory>
#include <vector>

#include "timing/sampler.h"
#include "timing/start_gate.h"

namespace duet {

class StreamTrial : public Trial {
 public:
  // The Work is prepared. Makes a stream on every rank and, with mode.flush, memory to write over
  // its cache with. `stop` says that the user wants to end.
  StreamTrial(Team& team, Work& work, const Mode& mode, const Placement& placement,
              std::function<bool()> stop = {});

  // Lets every stream run dry first: memory must not go while work may still reach it.
  ~StreamTrial() override;
  StreamTrial(const StreamTrial&) = delete;
  StreamTrial& operator=(const StreamTrial&) = delete;

  // One iteration without the gate, before all others: a library loads its kernels at their first
  // launch, which waits for the whole device and so for ever behind a stream that is held.
  void run_ungated();

  // The slowest rank's over all processes.
  std::vector<double> run(int iterations, bool grouped) override;
  // With several processes a clock that all have alike: it goes on in run() alone.
  double now() override;
  // Whether to end; with several processes, whether the user of any wanted to in the last run().
  bool stop() const;
  void reading(std::vector<Telemetry>& readings) override;

 private:
  struct RankTrial {  // one rank's own
    std::unique_ptr<Stream> stream;
    Buffer flush;
    std::vector<std::unique_ptr<Event>> starts, ends;
    std::vector<double> seconds;
  };

  void run_on(Rank& rank, int iterations, bool grouped);
  void run_flushed_group(Rank& rank, int calls);
  void run_batch(Rank& rank, int samples, int calls);
  void agree(std::vector<double>& slowest, double elapsed);
  RankTrial& trial(const Rank& rank) { return trials_[static_cast<std::size_t>(rank.local)]; }

  Team& team_;
  Work& work_;
  Mode mode_;
  std::function<bool()> stop_;
  double agreed_seconds_ = 0;
  bool stop_agreed_ = false;
  StartGate gate_;
  std::vector<RankTrial> trials_;
};

}  // namespace duet
