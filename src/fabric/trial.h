#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "fabric/memory.h"
#include "fabric/polling_core.h"
#include "fabric/proxy/fifo.h"
#include "fabric/proxy/proxy.h"
#include "fabric/session.h"
#include "fabric/task.h"
#include "timing/measurement.h"
#include "timing/mode.h"
#include "timing/sampler.h"

namespace duet {

// Iterations of one case over the fabric: each fills, moves, times and checks every byte.
class FabricTrial : public Trial {
 public:
  // Opens the session, allocates and registers; the session and the device must outlive it. All
  // processes make one together and make the same calls. Throws OutOfMemory and Error.
  FabricTrial(FabricSession& session, const FabricTask& task, Device& device,
              std::function<bool()> stop);
  // After a failure closes the session: memory must not go while peers may write to it.
  ~FabricTrial() override;
  FabricTrial(const FabricTrial&) = delete;
  FabricTrial& operator=(const FabricTrial&) = delete;

  // Seconds of a message: from the first one's post to the last one's proven end, by their number;
  // of an all_to_all of all of them. Throws Mismatch, Timeout naming rail and peer, PeerFailed.
  std::vector<double> run(int iterations, bool grouped) override;
  double now() override { return agreed_seconds_; }  // the same in all processes
  // Whether the user of any process wants to end.
  bool stop() const { return stop_agreed_; }
  // Seconds of each message of process 0, but for those of the first iterations.
  std::vector<double> latencies(int without) const;
  // How the rails' library reaches the memory, as it describes it; "" for the CPU's memory.
  std::string memory_how() const;
  // Of a proxy's last iteration.
  const ProxyTimes& proxy_times() const { return proxy_times_; }

 private:
  double iterate();
  void wait_for_peers();
  double move();
  double move_two_sided(const FabricLoad& all);
  double move_one_sided(const FabricLoad& all);
  double move_by_proxy(OneSided& writes);
  void agree(double seconds);
  void wait_for_arrivals();
  void progress();
  bool moves() const { return task_.moves(self_); }

  FabricSession& session_;
  FabricTask task_;
  Device& device_;
  std::function<bool()> stop_;
  int self_;
  std::unique_ptr<FabricMemory> memory_;
  std::unique_ptr<FifoMemory> fifo_;
  ProxyTimes proxy_times_;
  std::vector<bool> arrived_;  // by message: its immediate value
  std::vector<std::vector<double>> latencies_;
  std::uint64_t number_ = 0;  // of the iteration, in all processes the same
  double since_ = 0, agreed_seconds_ = 0, slowest_ = 0;
  PollingCore core_;
  int progress_calls_ = 0;
  bool stop_agreed_ = false;
  bool clean_ = true;  // nothing is in flight
};

// Collective: measures one case; adds samples, cost, latencies and notes to `result`. Afterwards
// the session is open, and the device's memory is freed. Throws as FabricTrial does.
void measure_fabric(FabricSession& session, const FabricTask& task, Device& device,
                    const Mode& mode, const std::function<bool()>& stop, Measurement& result);

}  // namespace duet
