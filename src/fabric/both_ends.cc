#include <exception>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "core/error.h"
#include "fabric/cases.h"
#include "team/processes.h"

namespace duet {
namespace {

constexpr double kEndsMeetSeconds = 20;

struct End {
  std::unique_ptr<Processes> processes;
  Benchmark benchmark;
};

// Runs both at once. Of two errors the cause is thrown, not the PeerFailed that it brought about.
void run_both(const std::function<void()>& here, const std::function<void()>& there) {
  std::exception_ptr first, second;
  std::thread other([&] {
    try {
      there();
    } catch (...) {
      second = std::current_exception();
    }
  });
  try {
    here();
  } catch (const PeerFailed&) {
    first = std::current_exception();
    other.join();
    std::rethrow_exception(second ? second : first);
  } catch (...) {
    other.join();
    throw;
  }
  other.join();
  if (second) std::rethrow_exception(second);
}

class BothEnds {
 public:
  BothEnds(Machine& here, std::unique_ptr<Machine> there, const FabricOptions& options,
           const std::function<bool()>& stop)
      : machine_there_(std::move(there)) {
    run_both([&] { open(here_, 0, here, options, stop); },
             [&] { open(there_, 1, *machine_there_, options, stop); });
  }

  // Sessions close with each other.
  ~BothEnds() {
    std::thread other([this] { close(there_); });
    close(here_);
    other.join();
  }
  BothEnds(const BothEnds&) = delete;
  BothEnds& operator=(const BothEnds&) = delete;

  const std::vector<Case>& cases() const { return here_.benchmark.cases; }

  Measurement run(std::size_t place) {
    Measurement measurement;
    run_both([&] { measurement = here_.benchmark.cases[place].run(); },
             [&] { there_.benchmark.cases[place].run(); });
    return measurement;
  }

  std::vector<Measurement> conclude(const std::vector<Finished>& finished) {
    std::vector<Measurement> measurements;
    run_both([&] { measurements = here_.benchmark.conclude(finished); },
             [&] { there_.benchmark.conclude(finished); });
    return measurements;
  }

 private:
  void open(End& end, int index, Machine& machine, const FabricOptions& options,
            const std::function<bool()>& stop) {
    Launch launch;
    launch.index = index;
    launch.size = 2;
    launch.broadcast = [this, index](const std::string& text) {
      if (index == 0) address_.set_value(text);
      return address_known_.get();
    };
    end.processes = std::make_unique<Processes>(launch, kEndsMeetSeconds);
    end.benchmark = fabric_benchmark(machine, options, stop, *end.processes);
  }

  static void close(End& end) {
    end.benchmark = {};
    end.processes.reset();
  }

  std::unique_ptr<Machine> machine_there_;
  std::promise<std::string> address_;  // where the first end listens
  std::shared_future<std::string> address_known_ = address_.get_future().share();
  End here_, there_;
};

}  // namespace

Benchmark both_ends_benchmark(Machine& here, std::unique_ptr<Machine> there,
                              const FabricOptions& options, const std::function<bool()>& stop) {
  const auto ends = std::make_shared<BothEnds>(here, std::move(there), options, stop);
  Benchmark benchmark;
  for (std::size_t i = 0; i < ends->cases().size(); ++i) {
    const Case& each = ends->cases()[i];
    benchmark.cases.push_back({each.id, [ends, i] { return ends->run(i); }, each.mode});
  }
  benchmark.conclude = [ends](const std::vector<Finished>& finished) {
    return ends->conclude(finished);
  };
  return benchmark;
}

}  // namespace duet
