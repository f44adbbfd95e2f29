// Which cases are measured: by memory, operation and window; the modes of rails of one size stand
// next to each other, since they are compared.
#include "fabric/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/units.h"
#include "fabric/proxy/fifo_cases.h"
#include "fabric/recommendation.h"
#include "fabric/trial.h"
#include "team/agreement.h"
#include "timing/statistics.h"

namespace duet {
namespace {

const char* memory_name(MemoryKind kind) { return kind == MemoryKind::pinned ? "pinned" : "host"; }

std::vector<std::uint64_t> default_sizes() {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = 256 << 10; bytes <= 1ull << 30; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

class Plan {
 public:
  Plan(Machine& machine, FabricOptions options, std::function<bool()> stop, Processes& processes)
      : options_(std::move(options)), stop_(std::move(stop)), device_(machine.device(0)) {
    if (processes.size() != 2) {
      throw UsageError(
          fmt::format("duet fabric runs between two processes, not {}", processes.size()));
    }
    session_ =
        std::make_shared<FabricSession>(processes, options_.settings, device_.info().numa_node);
    if (options_.sizes.empty()) options_.sizes = default_sizes();
    if (options_.modes.empty()) {
      options_.modes = {RailMode::single};
      if (session_->rail_count() > 1) {
        options_.modes = {RailMode::single, RailMode::split, RailMode::round_robin};
      }
    }
  }

  Benchmark benchmark() {
    FabricTask task;
    task.chunk = options_.chunk;
    for (const MemoryKind memory : options_.memory) {
      task.memory = memory;
      for (const FabricOperation operation : options_.operations) {
        task.operation = operation;
        for (const int window : options_.windows) {
          task.window = window;
          add_curve(task);
        }
      }
    }
    if (options_.fifo) {
      for (Case& each : fifo_cases(device_, options_.device_name, options_.producers, options_.mode,
                                   stop_, session_->processes())) {
        cases_.push_back(std::move(each));
      }
    }
    // The rails go when the last case has run.
    const auto conclude = [session = session_](const std::vector<Finished>& finished) {
      session->close();
      return recommend_rails(finished);
    };
    return {std::move(cases_), conclude};
  }

 private:
  void add_curve(FabricTask task) {
    for (const std::uint64_t bytes : options_.sizes) {
      task.bytes = bytes;
      task.messages = options_.messages > 0 ? options_.messages : messages_of(bytes, task.window);
      for (const bool bidirectional : options_.directions) {
        // Messages there and back go both ways already.
        if (bidirectional && task.operation == FabricOperation::send_recv) continue;
        task.bidirectional = bidirectional;
        for (const RailMode mode : options_.modes) {
          task.mode = mode;
          add_issues(task);
        }
      }
    }
  }

  void add_issues(FabricTask task) {
    const bool writes =
        task.operation == FabricOperation::write || task.operation == FabricOperation::write_imm;
    for (const RailIssue issue : options_.issues) {
      task.issue = issue;
      if (issue == RailIssue::direct) {
        task.producers = 0;
        add_case(task);
      } else if (writes && !task.bidirectional) {
        for (const int producers : options_.producers) {
          task.producers = producers;
          add_case(task);
        }
      }
    }
  }

  Axes axes(const FabricTask& task) const {
    Axes list = {{"operation", std::string(name(task.operation))},
                 {"memory", std::string(memory_name(task.memory))},
                 {"provider", options_.settings.provider},
                 {"nodes", std::int64_t{2}},
                 {"rails", std::int64_t{session_->rail_count()}},
                 {"bytes", static_cast<std::int64_t>(task.bytes)},
                 {"window", std::int64_t{task.window}},
                 {"messages", std::int64_t{task.messages}},
                 {"chunk", static_cast<std::int64_t>(task.chunk)},
                 {"bidirectional", task.bidirectional},
                 {"mode", std::string(name(task.mode))}};
    if (task.issue != RailIssue::direct || options_.issues.size() > 1) {
      list.emplace_back("issue", std::string(name(task.issue)));
      list.emplace_back("producers", std::int64_t{task.producers});
    }
    return list;
  }

  void add_case(const FabricTask& task) {
    const CaseId id{"fabric", options_.device_name, "libfabric", axes(task)};
    const auto run = [session = session_, id, task, &device = device_, mode = options_.mode,
                      limit = options_.memory_limit, stop = stop_] {
      Measurement result;
      result.id = id;
      const std::uint64_t needed = task.bytes * static_cast<std::uint64_t>(task.messages);
      if (needed > limit) {
        result.skipped =
            Skipped{fmt::format("{} messages of {} need {}: more than --memory-limit",
                                task.messages, format_bytes(task.bytes), format_bytes(needed))};
        return result;
      }
      try {
        run_together(session->processes(),
                     [&] { measure(*session, task, device, mode, stop, result); });
      } catch (...) {
        session->close();
        throw;
      }
      return result;
    };
    cases_.push_back({id, run, options_.mode});
  }

  static void measure(FabricSession& session, const FabricTask& task, Device& device,
                      const Mode& mode, const std::function<bool()>& stop, Measurement& result) {
    const std::size_t lost = session.lost_in_words().size();
    FabricTrial trial(session, task, device, stop);
    result.sampling = sample(trial, mode, [&] { return trial.stop(); });
    result.sampling->verified = true;
    const double ways = task.bidirectional ? 2 : 1;
    result.cost.network_bytes = ways * static_cast<double>(task.bytes);
    result.cost.link_gbit_per_s = ways * session.link_gbit(task.mode);
    add_latencies(trial.latencies(result.sampling->warm_ups), result);
    add_proxy_times(trial.proxy_times(), result);
    std::vector<std::string> rails;
    for (const RailInfo& rail : session.infos()) rails.push_back(rail_name(rail));
    result.notes.emplace_back("rails", fmt::format("{}", fmt::join(rails, ", ")));
    const std::vector<std::string> all = session.lost_in_words();
    for (std::size_t i = lost; i < all.size(); ++i) {
      result.warnings.push_back(all[i] + "; the other rails took over");
    }
  }

  // Process 0's; in the other, which keeps no records, there may be none.
  static void add_latencies(std::vector<double> seconds, Measurement& result) {
    if (seconds.empty()) return;
    std::sort(seconds.begin(), seconds.end());
    const std::pair<const char*, double> wanted[] = {
        {"latency_p50_us", 0.5}, {"latency_p95_us", 0.95}, {"latency_p99_us", 0.99}};
    for (const auto& [rate, q] : wanted)
      result.rates.emplace_back(rate, 1e6 * quantile(seconds, q));
  }

  static void add_proxy_times(const ProxyTimes& times, Measurement& result) {
    const std::pair<const char*, const std::vector<double>*> parts[] = {
        {"push_us", &times.push},
        {"poll_us", &times.poll},
        {"post_us", &times.post},
        {"completion_us", &times.completion}};
    for (const auto& [rate, seconds] : parts) {
      if (!seconds->empty()) result.rates.emplace_back(rate, 1e6 * summarise(*seconds).median);
    }
  }

  FabricOptions options_;
  std::function<bool()> stop_;
  Device& device_;
  std::shared_ptr<FabricSession> session_;
  std::vector<Case> cases_;
};

}  // namespace

int messages_of(std::uint64_t bytes, int window) {
  constexpr std::uint64_t kBytes = 32 << 20, kMostWindows = 32;
  const std::uint64_t one = bytes * static_cast<std::uint64_t>(window);
  const std::uint64_t windows =
      std::clamp<std::uint64_t>(kBytes / std::max<std::uint64_t>(one, 1), 1, kMostWindows);
  return window * static_cast<int>(windows);
}

Benchmark fabric_benchmark(Machine& machine, const FabricOptions& options,
                           std::function<bool()> stop, Processes& processes) {
  return Plan(machine, options, std::move(stop), processes).benchmark();
}

}  // namespace duet
