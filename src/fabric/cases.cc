#include "fabric/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/units.h"
#include "fabric/bounce/choose_memory_path.h"
#include "fabric/trial.h"
#include "team/agreement.h"

namespace duet {
namespace {

const char* memory_name(MemoryKind kind) {
  return kind == MemoryKind::pageable ? "host" : name(kind);
}

std::vector<std::uint64_t> default_sizes() {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = 256 << 10; bytes <= 1ull << 30; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

// Cases are ordered by memory, operation and window. The rail modes of one size are adjacent, since
// they are compared.
class FabricCaseBuilder {
 public:
  FabricCaseBuilder(Machine& machine, FabricOptions options, std::function<bool()> stop,
                    Processes& processes)
      : options_(std::move(options)),
        stop_(std::move(stop)),
        device_(machine.device(options_.device)) {
    choose_operations(processes.size());
    session_ = std::make_shared<FabricSession>(processes, options_.settings, device_.info());
    choose_path(machine, processes);
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
    for (const MemoryKind memory : options_.memory) {
      task.memory = memory;
      task.path = memory == MemoryKind::device ? path_ : MemoryPath::direct;
      // To start a copy takes as long as 1 MiB takes over NVLink.
      const std::uint64_t usual = task.path == MemoryPath::ipc ? 0 : 1 << 20;
      task.chunk = options_.chunk.value_or(usual);
      for (const FabricOperation operation : options_.operations) {
        task.operation = operation;
        if (operation == FabricOperation::all_to_all) {
          if (posts_directly()) add_all_to_all(task);
          continue;
        }
        for (const int window : options_.windows) {
          task.window = window;
          add_curve(task);
        }
      }
    }
    if (options_.fifo) {
      for (Case& each :
           fifo_cases(device_, options_.device_name, options_.fifo_memory, options_.producers,
                      options_.mode, stop_, session_->processes())) {
        cases_.push_back(std::move(each));
      }
    }
    if (cases_.empty()) {
      throw UsageError(
          "nothing to measure: a proxy (--issue) posts write and write_imm one-way, and send_recv "
          "goes both ways without --direction");
    }
    // The rails are closed when the last case has run.
    const auto conclude = [session = session_](const std::vector<Finished>& finished) {
      session->close();
      return recommend_rails(finished);
    };
    return {std::move(cases_), conclude};
  }

 private:
  void choose_operations(int processes) {
    if (processes < 2) {
      throw UsageError("duet fabric runs between two processes or more, not in one");
    }
    if (options_.operations.empty()) options_.operations = fabric_operations(processes);
    for (const FabricOperation operation : options_.operations) {
      if (processes == 2 || operation == FabricOperation::all_to_all) continue;
      throw UsageError(fmt::format("{} runs between two processes, not {}: expected all_to_all",
                                   name(operation), processes));
    }
  }

  void choose_path(Machine& machine, Processes& processes) {
    const auto& memory = options_.memory;
    if (std::find(memory.begin(), memory.end(), MemoryKind::device) == memory.end()) return;
    path_ = choose_memory_path(processes, options_.settings.provider, device_, options_.path);
    if (path_ == MemoryPath::ipc) machine.make_shareable();
  }

  bool posts_directly() const {
    const auto& issues = options_.issues;
    return std::find(issues.begin(), issues.end(), RailIssue::direct) != issues.end();
  }

  // 0, one place per message, where the memory limit has room; else the places that it has room
  // for.
  int places_within_limit(std::uint64_t bytes, int messages) const {
    const std::uint64_t room = std::max<std::uint64_t>(options_.memory_limit / bytes, 1);
    if (options_.places > 0 || static_cast<std::uint64_t>(messages) <= room) return options_.places;
    return static_cast<int>(room);
  }

  // All of its messages are in flight at once.
  void add_all_to_all(FabricTask task) {
    task.window = task.messages = session_->processes().size() - 1;
    task.bidirectional = true;
    task.producers = 0;
    for (const std::uint64_t bytes : options_.sizes) {
      task.bytes = bytes;
      for (const RailMode mode : options_.modes) {
        task.mode = mode;
        add_case(task);
      }
    }
  }

  void add_curve(FabricTask task) {
    for (const std::uint64_t bytes : options_.sizes) {
      task.bytes = bytes;
      task.messages = options_.messages > 0 ? options_.messages : messages_of(bytes, task.window);
      task.places = places_within_limit(bytes, task.messages);
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
        add_proxies(task);
      }
    }
  }

  void add_proxies(FabricTask task) {
    for (const MemoryKind fifo : options_.fifo_memory) {
      task.fifo = fifo;
      for (const int producers : options_.producers) {
        task.producers = producers;
        add_case(task);
      }
    }
  }

  Axes axes(const FabricTask& task) const {
    Axes list = {{"operation", std::string(name(task.operation))},
                 {"memory", std::string(memory_name(task.memory))}};
    const bool followed = task.memory != MemoryKind::device || device_.info().cpu_addressable;
    if (!followed || task.path != MemoryPath::direct) {
      list.set("memory_path", std::string(name(task.path)));
    }
    list.set("provider", options_.settings.provider);
    list.set("nodes", std::int64_t{session_->processes().size()});
    list.set("rails", std::int64_t{session_->rail_count()});
    list.set("bytes", static_cast<std::int64_t>(task.bytes));
    list.set("window", std::int64_t{task.window});
    list.set("messages", std::int64_t{task.messages});
    list.set("chunk", static_cast<std::int64_t>(task.chunk));
    list.set("bidirectional", task.bidirectional);
    list.set("mode", std::string(name(task.mode)));
    if (task.places > 0) list.set("places", std::int64_t{task.places});
    if (task.issue != RailIssue::direct || options_.issues.size() > 1) {
      list.set("issue", std::string(name(task.issue)));
      list.set("producers", std::int64_t{task.producers});
      if (options_.fifo_memory != FabricOptions().fifo_memory) {
        list.set("fifo", std::string(name(task.fifo)));
      }
    }
    return list;
  }

  void add_case(const FabricTask& task) {
    const CaseId id{"fabric", options_.device_name, "libfabric", axes(task)};
    const auto run = [session = session_, id, task, &device = device_, mode = options_.mode,
                      limit = options_.memory_limit, stop = stop_] {
      const std::uint64_t needed = buffer_bytes(task, session->processes().size());
      if (needed > limit) {
        return skipped_measurement(
            id, fmt::format("{} messages of {} need {}: more than --memory-limit", task.messages,
                            format_bytes(task.bytes), format_bytes(needed)));
      }
      Measurement result;
      result.id = id;
      try {
        run_together(session->processes(),
                     [&] { measure_fabric(*session, task, device, mode, stop, result); });
      } catch (...) {
        session->abandon();
        throw;
      }
      return result;
    };
    cases_.push_back({id, run, options_.mode});
  }

  FabricOptions options_;
  std::function<bool()> stop_;
  Device& device_;
  MemoryPath path_ = MemoryPath::direct;  // of its own memory
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
  return FabricCaseBuilder(machine, options, std::move(stop), processes).benchmark();
}

}  // namespace duet
