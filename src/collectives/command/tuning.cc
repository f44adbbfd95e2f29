#include "collectives/command/tuning.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "collectives/engine.h"
#include "collectives/tuning/built_in_tuning.h"
#include "collectives/tuning/changeover.h"
#include "collectives/tuning/tuning_file.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/units.h"
#include "team/agreement.h"

namespace duet {
namespace {

std::string line(CollectiveKind kind, std::uint64_t from, std::uint64_t before, bool measured) {
  const bool changes = from != 0 && from != Thresholds::kNever;
  return fmt::format("auto: {} {}{} (was {}, {})\n", name(kind), dma_from_text(from),
                     changes ? ", by dma from there on" : "", dma_from_text(before),
                     measured ? "measured" : "built in");
}

int ranks_of(const Finished& one) {
  return static_cast<int>(one.id.axes.number("ranks").value_or(0));
}

bool has_nccl(Machine& machine) {
  const auto engines = collective_engines(machine.device(0).info().kind, {"nccl"}).engines;
  return std::any_of(engines.begin(), engines.end(),
                     [](const CollectiveEngine* one) { return one->name() == "nccl"; });
}

std::string copies_line(CollectiveKind kind, std::uint64_t from) {
  return from == Thresholds::kNever
             ? fmt::format("nccl: {} by the drop-in is slower at the largest size\n", name(kind))
             : fmt::format("nccl: {} by the drop-in is as fast from {} on\n", name(kind),
                           format_bytes(from));
}

std::string packets_line(CollectiveKind kind, std::uint64_t to) {
  return to == 0 ? fmt::format("nccl: {} by the drop-in's packets is slower at the smallest size\n",
                               name(kind))
                 : fmt::format("nccl: {} by the drop-in's packets is as fast up to {}\n",
                               name(kind), format_bytes(to));
}

std::string kernel_line(CollectiveKind kind, const SizeRange& sizes) {
  const std::string what = fmt::format("nccl: {} by the drop-in's kernel is ", name(kind));
  if (sizes.to == 0) return what + "slower\n";
  const std::string above =
      sizes.above == 0 ? "" : fmt::format("above {} ", format_bytes(sizes.above));
  return what + fmt::format("as fast {}up to {}\n", above, format_bytes(sizes.to));
}

// The drop-in would follow them when it is measured.
void require_no_drop_in_settings() {
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view setting = *each;
    const std::string_view variable = setting.substr(0, setting.find('='));
    if (variable.rfind("DUET_NCCL_", 0) != 0 || variable == "DUET_NCCL_LOG") continue;
    throw UsageError(
        fmt::format("--tune: expected no {} in the environment: the drop-in, which is measured "
                    "beside NCCL, would go by it",
                    variable));
  }
}

// Stores the thresholds and returns the message about them.
std::string store_in(TuningFile& file, const TuningSetup& setup, const Thresholds& measured,
                     const BesideNccl& nccl) {
  if (measured.all().empty()) {
    return "auto: nothing stored: no collective was measured by both kernel and dma\n";
  }
  const Thresholds before = file.thresholds(setup), built_in = built_in_thresholds(setup);
  file.store(setup, measured, nccl);
  std::string text;
  for (const auto& [kind, bytes] : measured.all()) {
    const bool known = before.all().count(kind) > 0;
    text += line(kind, bytes, (known ? before : built_in).dma_from(kind), known);
  }
  for (const auto& [kind, bytes] : nccl.packets) text += packets_line(kind, bytes);
  for (const auto& [kind, sizes] : nccl.kernel) text += kernel_line(kind, sizes);
  for (const auto& [kind, bytes] : nccl.copies.all()) text += copies_line(kind, bytes);
  return text +
         fmt::format("auto: stored for {} in {}\n", in_words(setup), TuningFile::usual_path());
}

}  // namespace

CollectiveTuning::CollectiveTuning(Processes& processes) : processes_(processes) {
  run_together(processes_, [&] {
    require_no_drop_in_settings();
    if (processes_.index() == 0) TuningFile(TuningFile::usual_path()).require_writable();
  });
}

std::vector<std::string> CollectiveTuning::engines(Machine& machine) {
  std::vector<std::string> names = {"kernel", "dma"};
  const std::vector<std::string> all =
      processes_.gather_all(has_nccl(machine) ? "nccl" : "", "all to say whether they have NCCL",
                            kDefaultDeadlineSeconds);
  has_nccl_ = std::count(all.begin(), all.end(), "nccl") == processes_.size();
  if (has_nccl_) {
    names.insert(names.end(), {"nccl", kDropInEngine, kDropInKernelEngine});
  }
  return names;
}

std::vector<std::uint64_t> CollectiveTuning::sizes(const std::vector<std::uint64_t>& asked,
                                                   Machine& machine) const {
  if (!asked.empty()) return asked;
  const bool cpu = machine.device(0).info().is_cpu;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = has_nccl_ ? 8 << 10 : 64 << 10; bytes <= (cpu ? 16u << 20 : 1u << 30);
       bytes *= 2) {
    sizes.push_back(bytes);
  }
  return sizes;
}

void CollectiveTuning::observe(Machine& machine, const CollectiveOptions& options,
                               Benchmark& benchmark) {
  TunedRun& tuned = tuned_runs_.emplace_back(TunedRun{machine, {}});
  benchmark.conclude = [&tuned, in_two_modes = options.small_calls_mode.has_value(),
                        inner = benchmark.conclude](const std::vector<Finished>& finished) {
    tuned.finished = finished;
    return inner(in_two_modes ? without_compared_small_calls(finished) : finished);
  };
}

void CollectiveTuning::store(std::ostream& out) const {
  if (processes_.index() != 0) return;
  TuningFile file(TuningFile::usual_path());
  for (const TunedRun& tuned : tuned_runs_) {
    if (tuned.finished.empty()) continue;
    const TuningSetup setup =
        tuning_setup(tuned.machine, ranks_of(tuned.finished.front()), processes_.size() > 1);
    const std::string text =
        store_in(file, setup, changeovers(tuned.finished), beside_nccl(tuned.finished));
    out << text << std::flush;
  }
}

}  // namespace duet
