// Runs a Work's iterations on every rank's stream and times them by events.
#pragma once

#include <memory>
#include <vector>

#include "timing/sampler.h"
#include "timing/start_gate.h"

namespace duet {

class StreamTrial : public Trial {
 public:
  // The Work must be prepared and outlive the trial. Makes a stream for every local rank and, with
  // mode.flush, a buffer that is filled to flush the cache. `stop` returns true if the user wants
  // to end.
  StreamTrial(Team& team, Work& work, const Mode& mode, const Placement& placement,
              std::function<bool()> stop = {});

  // Waits until every stream is idle: memory must not be freed while work may still access it.
  ~StreamTrial() override;
  StreamTrial(const StreamTrial&) = delete;
  StreamTrial& operator=(const StreamTrial&) = delete;

  // Runs ungated_calls() iterations without the gate; must come before run().
  void run_ungated();

  // Each sample is the slowest rank's, over all processes. Collective over processes.
  std::vector<double> run(int iterations, bool grouped) override;
  // With several processes: the time spent in run(), on which all processes have agreed.
  double now() override;
  // Whether the user wants to end. With several processes: whether the user of any process wanted
  // to end at the last run().
  bool stop() const;
  void reading(std::vector<Telemetry>& readings) override;

 private:
  struct RankTrial {
    std::unique_ptr<Stream> stream;
    Buffer flush;
    std::vector<std::unique_ptr<Event>> starts, ends;
    std::vector<double> seconds;
  };

  void run_on(Rank& rank, int iterations, bool grouped);
  void run_flushed_group(Rank& rank, int enqueues);
  void run_batch(Rank& rank, int samples, int enqueues);
  void enqueue_batch(Rank& rank, int samples, int enqueues, const std::function<void()>& open_gate);
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
