// Runs the rounds of a soak on a machine: multiplications, copies, a collective and memory that is
// kept, on all devices at once, with all results compared.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/machine.h"
#include "overlap/engines.h"
#include "soak/finding.h"
#include "soak/injection.h"
#include "soak/lanes.h"
#include "soak/plan.h"
#include "soak/watch.h"

namespace duet {

struct SoakOptions {
  std::uint64_t seed = 1;
  double round_seconds = 15;     // by the machine's clock
  std::uint64_t kept_bytes = 0;  // of each device's memory; 0: usual_kept_bytes()
  SoakAllowances allowed;
  std::vector<Injection> injections;
};

// Three quarters of a GPU's memory; little of a CPU's and of a simulated device's.
std::uint64_t usual_kept_bytes(const DeviceInfo& info);

// What a round did and found; what a journal keeps of it.
struct SoakRound {
  int round = 0;
  std::uint64_t seed = 0;  // the run's
  std::string engine;      // of the multiplications
  SoakRoundPlan plan;
  std::string product;  // name() of the plan's; rounds with the same one have comparable rates
  double seconds = 0;   // all of it
  std::vector<double> batches;  // seconds of each
  double flop = 0, wire_bytes = 0, compared_bytes = 0;
  double wrong = 0;  // results
  // By device, in the machine's order.
  std::vector<double> tflops;          // of its multiplications, nothing beside them
  std::vector<WatchedDevice> devices;  // of a run's last round; of earlier ones empty
  std::vector<std::string> limits;     // of their clocks: "power cap"; "": none
  std::vector<SoakFinding> findings;
  bool cut_short = false;  // by the user
  bool lost = false;       // a device or wait failed: later rounds cannot run
};

class SoakRunner {
 public:
  // The machine must outlive the runner. `stop` is called between batches; `step` is told what the
  // round is doing. Throws Unavailable where the machine has no engine for GEMMs, OutOfMemory.
  SoakRunner(Machine& machine, const SoakOptions& options, std::function<bool()> stop,
             std::function<void(const std::string&)> step);
  ~SoakRunner();

  // Throws OutOfMemory where the round does not fit even without memory that is kept.
  SoakRound run(int round);
  const SoakMenu& menu() const { return menu_; }
  std::uint64_t kept_bytes() const;  // of all devices together

 private:
  class Running;
  void run_fitting(SoakRound& round);

  Machine& machine_;
  SoakOptions options_;
  Injections injections_;
  std::function<bool()> stop_;
  std::function<void(const std::string&)> step_;
  OverlapEngines engines_;
  SoakMenu menu_;
  std::vector<std::unique_ptr<SoakKept>> kept_;
  SoakWatch watch_;
};

}  // namespace duet
