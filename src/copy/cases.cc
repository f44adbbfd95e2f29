#include "copy/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "copy/copy_work.h"
#include "copy/cpu/peak.h"
#include "core/error.h"
#include "core/units.h"
#include "timing/sampler.h"

namespace duet {
namespace {

constexpr int kMostThreads = 1024;  // per block, on every GPU that Duet supports

template <typename Value>
bool has(const std::vector<Value>& list, Value value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::string place(Machine& machine, const Endpoint& endpoint) {
  if (endpoint.memory == MemoryKind::pinned) return "pinned";
  if (endpoint.memory == MemoryKind::pageable) return "pageable";
  return machine.device(endpoint.rank).info().name;
}

Axes axes(Machine& machine, const CopyShape& s, std::uint64_t bytes) {
  const bool all = s.pattern == Pattern::all_pairs;
  return {{"kind", std::string(name(s.kind))},
          {"executor", std::string(name(s.executor))},
          {"issue", std::string(name(s.issue))},
          {"pattern", std::string(name(s.pattern))},
          {"bytes", static_cast<std::int64_t>(bytes)},
          {"source", all ? "all" : place(machine, s.source)},
          {"destination", all ? "all" : place(machine, s.destination)},
          {"bidirectional", s.bidirectional},
          {"grid", static_cast<std::int64_t>(s.kernel.grid)},
          {"block", static_cast<std::int64_t>(s.kernel.block)}};
}

// Builds the list of cases, with one function per kind of copy.
class CopyCases {
 public:
  CopyCases(Machine& machine, CopyOptions options, std::function<bool()> stop)
      : machine_(machine), options_(std::move(options)), stop_(std::move(stop)) {
    if (options_.sizes.empty()) {
      options_.sizes = seed_sizes();
      options_.beyond_cache = true;
    }
    if (options_.executors.empty()) options_.executors = {Executor::dma, Executor::kernel};
    if (options_.kinds.empty()) options_.kinds = kinds_of(machine);
    if (options_.pairs.empty() && machine.size() > 1) options_.pairs = {{0, 1}};
    for (const auto& [from, to] : options_.pairs) require_pair(from, to);
    for (int block : options_.blocks) {
      if (block <= kMostThreads) continue;
      throw UsageError(fmt::format("block {}: expected at most {} threads", block, kMostThreads));
    }
  }

  Benchmark benchmark() {
    for (CopyKind kind : options_.kinds) {
      for (Executor executor : options_.executors) add(kind, executor);
    }
    const std::vector<Case> peaks = copy_peak_cases(machine_, options_, cases_, stop_);
    cases_.insert(cases_.begin(), peaks.begin(), peaks.end());
    return {std::move(cases_), copy_curves};
  }

 private:
  static std::vector<CopyKind> kinds_of(Machine& machine) {
    std::vector<CopyKind> kinds{CopyKind::local};
    // On a host device, host memory is device memory: a copy between the two is a local copy.
    if (!machine.device(0).info().cpu_addressable) {
      kinds.insert(kinds.begin(), {CopyKind::host_to_device, CopyKind::device_to_host});
    }
    if (machine.size() > 1) kinds.insert(kinds.begin(), CopyKind::peer);
    return kinds;
  }

  void require_pair(int from, int to) const {
    if (from < 0 || to < 0 || from >= machine_.size() || to >= machine_.size()) {
      throw UsageError(fmt::format("pair {}-{}: {} has devices 0 to {}", from, to, machine_.name(),
                                   machine_.size() - 1));
    }
    if (from == to) {
      throw UsageError(fmt::format(
          "pair {}-{}: a peer copy has two different devices; --kind local copies within one", from,
          to));
    }
  }

  void add(CopyKind kind, Executor executor) {
    CopyShape shape;
    shape.kind = kind;
    shape.executor = executor;
    switch (kind) {
      case CopyKind::peer:
        return add_peer(shape);
      case CopyKind::local:
        return add_local(shape);
      case CopyKind::host_to_device:
      case CopyKind::device_to_host:
        return add_host(shape);
    }
  }

  void add_peer(CopyShape shape) {
    for (Issue issue : options_.issues) {
      shape.issue = issue;
      if (has(options_.patterns, Pattern::pair)) add_pairs(shape);
      if (has(options_.patterns, Pattern::all_pairs) && machine_.size() > 1) {
        CopyShape all = shape;
        all.pattern = Pattern::all_pairs;
        add_curve(all);
      }
    }
  }

  void add_pairs(CopyShape shape) {
    for (bool both : options_.directions) {
      shape.bidirectional = both;
      for (const auto& [from, to] : options_.pairs) {
        shape.source.rank = from;
        shape.destination.rank = to;
        add_curve(shape);
      }
      add_matrix(shape);
    }
  }

  // Adds every pair of devices at one size. In bidirectional copies (a, b) and (b, a) are the same
  // case.
  void add_matrix(CopyShape shape) {
    if (options_.matrix_bytes == 0) return;
    for (int from = 0; from < machine_.size(); ++from) {
      for (int to = shape.bidirectional ? from + 1 : 0; to < machine_.size(); ++to) {
        const bool measured =
            has(options_.pairs, {from, to}) && has(options_.sizes, options_.matrix_bytes);
        if (from == to || measured) continue;
        shape.source.rank = from;
        shape.destination.rank = to;
        add_shapes(shape, options_.matrix_bytes);
      }
    }
  }

  int lone_devices() const { return options_.each_device ? machine_.size() : 1; }

  void add_local(CopyShape shape) {
    for (int device = 0; device < lone_devices(); ++device) {
      shape.source.rank = shape.destination.rank = device;
      add_curve(shape);
      if (!options_.beyond_cache) continue;
      const auto larger = size_beyond_cache(machine_.device(device).info(), options_.sizes);
      if (larger) add_shapes(shape, *larger);
    }
  }

  void add_host(CopyShape shape) {
    const bool to_device = shape.kind == CopyKind::host_to_device;
    // Only the device can issue the copy.
    shape.issue = to_device ? Issue::pull : Issue::push;
    for (int device = 0; device < lone_devices(); ++device) {
      shape.source.rank = shape.destination.rank = device;
      for (MemoryKind memory : options_.host_memory) {
        (to_device ? shape.source : shape.destination).memory = memory;
        add_curve(shape);
      }
    }
  }

  void add_curve(const CopyShape& shape) {
    for (std::uint64_t bytes : options_.sizes) add_shapes(shape, bytes);
  }

  void add_shapes(CopyShape shape, std::uint64_t bytes) {
    if (shape.executor != Executor::kernel) return add_case(shape, bytes);
    for (int grid : options_.grids) {
      for (int block : options_.blocks) {
        shape.kernel = {grid, block};
        add_case(shape, bytes);
      }
    }
  }

  void add_case(const CopyShape& shape, std::uint64_t bytes) {
    const CaseId id{"copy", options_.device_name, "duet", axes(machine_, shape, bytes)};
    const bool staged = shape.executor == Executor::dma || shape.executor == Executor::host;
    if (!staged && uses(shape, MemoryKind::pageable)) {
      const char* who = shape.executor == Executor::kernel ? "kernels" : "SDMA engines";
      cases_.push_back(skipped_case(
          id, fmt::format("{} cannot access pageable memory; they can access pinned memory", who),
          options_.mode));
      return;
    }
    cases_.push_back({id,
                      [&machine = machine_, id, shape, bytes, mode = options_.mode, stop = stop_] {
                        return measure_case(machine, id, {shape, bytes, mode}, stop);
                      },
                      options_.mode});
  }

  static bool uses(const CopyShape& shape, MemoryKind memory) {
    return shape.source.memory == memory || shape.destination.memory == memory;
  }

  struct CaseSettings {
    CopyShape shape;
    std::uint64_t bytes;
    Mode mode;
  };

  // Only the devices that take part in the copy form the team, so that other ranks add no overhead.
  // The shape's device numbers become ranks of that team.
  static Measurement measure_case(Machine& machine, const CaseId& id, CaseSettings settings,
                                  const std::function<bool()>& stop) {
    Measurement result;
    result.id = id;
    std::vector<int> devices;
    CopyShape& shape = settings.shape;
    if (shape.pattern == Pattern::pair) {
      devices.push_back(shape.source.rank);
      if (shape.destination.rank != shape.source.rank) devices.push_back(shape.destination.rank);
      shape.destination.rank = static_cast<int>(devices.size()) - 1;
      shape.source.rank = 0;
    }
    Team team(machine, devices);
    CopyWork work(team, shape, settings.bytes);
    result.cost = work.cost();
    result.sampling = Sampler(team, stop).measure(work, settings.mode);
    if (!work.engines().empty()) result.notes.emplace_back("sdma_engines", work.engines());
    const auto count = transfers(shape, settings.bytes, team.size()).size();
    if (count > 1) {
      const double median = summarise(result.sampling->samples).median;
      const double each = static_cast<double>(settings.bytes) / median / 1e9;
      result.rates.emplace_back("gb_per_s_each", each);
    }
    return result;
  }

  Machine& machine_;
  CopyOptions options_;
  std::function<bool()> stop_;
  std::vector<Case> cases_;
};

}  // namespace

Benchmark copy_benchmark(Machine& machine, const CopyOptions& options, std::function<bool()> stop) {
  return CopyCases(machine, options, std::move(stop)).benchmark();
}

}  // namespace duet
