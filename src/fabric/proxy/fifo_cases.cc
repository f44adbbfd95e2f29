#include <numeric>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "fabric/cases.h"
#include "fabric/proxy/fifo.h"
#include "fabric/proxy/producers.h"
#include "team/agreement.h"
#include "timing/sampler.h"
#include "timing/statistics.h"

namespace duet {
namespace {

constexpr std::size_t kCapacity = 128;
constexpr std::uint64_t kCommands = 50000;  // an iteration

class FifoTrial : public Trial {
 public:
  FifoTrial(Device& device, MemoryKind memory, int producers)
      : device_(device), producers_(producers), memory_(device, memory, kCapacity) {}

  std::vector<double> run(int iterations, bool grouped) override {
    std::vector<double> samples;
    for (int i = 0; i < iterations; ++i) samples.push_back(once());
    if (!grouped) return samples;
    return {std::accumulate(samples.begin(), samples.end(), 0.0) / iterations};
  }
  double now() override { return steady_now(); }

 private:
  // Seconds of a command, from the first push until the producers have seen all done.
  double once() {
    Fifo fifo = memory_.fifo();
    const auto producers = make_producers(device_, fifo, {producers_, kCommands, false});
    std::vector<bool> seen(kCommands);
    const double begin = steady_now();
    producers->begin();
    std::uint64_t popped = 0;
    for (ProxyCommand command; !producers->ended();) {
      if (fifo.pop(command)) {
        if (seen.at(command.message)) throw Mismatch("a command came out of the fifo twice");
        seen[command.message] = true;
        fifo.complete(++popped);
      } else {
        std::this_thread::yield();
      }
    }
    if (popped != kCommands) throw Mismatch("commands were lost in the fifo");
    return (producers->end() - begin) / static_cast<double>(kCommands);
  }

  Device& device_;
  int producers_;
  FifoMemory memory_;
};

Measurement measure_fifo(Device& device, const CaseId& id, MemoryKind memory, int producers,
                         const Mode& mode, const std::function<bool()>& stop) {
  Measurement result;
  result.id = id;
  FifoTrial trial(device, memory, producers);
  result.sampling = sample(trial, mode, stop);
  result.sampling->verified = true;
  const double seconds = summarise(result.sampling->samples).median;
  result.rates.emplace_back("million_per_s", 1e-6 / seconds);
  return result;
}

Case fifo_case(Device& device, const CaseId& id, MemoryKind memory, int producers, const Mode& mode,
               const std::function<bool()>& stop, Processes& processes) {
  const auto run = [&device, &processes, id, memory, producers, mode, stop] {
    Measurement result;
    result.id = id;
    run_together(processes, [&] {
      if (processes.index() == 0) {
        result = measure_fifo(device, id, memory, producers, mode, stop);
      }
    });
    return result;
  };
  return {id, run, mode};
}

}  // namespace

std::vector<Case> fifo_cases(Device& device, const std::string& device_name,
                             const std::vector<MemoryKind>& memory,
                             const std::vector<int>& producers, const Mode& mode,
                             const std::function<bool()>& stop, Processes& processes) {
  std::vector<Case> cases;
  for (const MemoryKind kind : memory) {
    for (const int threads : producers) {
      const CaseId id{"fabric_fifo",
                      device_name,
                      "duet",
                      {{"memory", std::string(name(kind))},
                       {"capacity", static_cast<std::int64_t>(kCapacity)},
                       {"producers", std::int64_t{threads}}}};
      cases.push_back(fifo_case(device, id, kind, threads, mode, stop, processes));
    }
  }
  return cases;
}

}  // namespace duet
