#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/network_flags.h"
#include "timing/measurement.h"

namespace duet {

class Processes;

// A command that measures works by turns with parts of them, on whole machines and by one process
// or several.
class TurnsCommand : public Command {
 protected:
  using Command::Command;

  void add_machine_flags();                    // those of the command are added behind them
  void add_call_flags();                       // --tuning-seconds, -G, --graph-calls
  void add_run_flags();                        // of the network, mode and output
  bool lists() const { return output_.list; }  // whether nothing is measured

  // Sets what these flags say. Throws UsageError.
  template <typename Options>
  void set(Options& options) const {
    options.tuning_seconds = tuning_seconds_;
    std::tie(options.graph.launches, options.graph.calls) = graph();
    options.mode = turns_mode();
    options.node_size = node_size_of(network_);
    options.network = network_of(network_);
  }

  // The benchmarks of an opened machine, which was opened by this name.
  using BenchmarksOf =
      std::function<std::vector<Benchmark>(Machine& machine, const std::string& name)>;
  // Reads the command's own flags. `processes`: null if there is one.
  using ReadFlags = std::function<BenchmarksOf(Processes* processes)>;
  int measure_by_turns(const std::vector<std::string>& line, const ReadFlags& read) const;

 private:
  std::pair<int, int> graph() const;  // launches and calls
  Mode turns_mode() const;

  DeviceFlags devices_;
  ModeFlags mode_;
  NetworkFlags network_;
  OutputFlags output_;
  std::string graph_, graph_calls_;
  double tuning_seconds_ = 1;
};

}  // namespace duet
