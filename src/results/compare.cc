#include "results/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "core/error.h"
#include "core/names.h"
#include "results/noise.h"
#include "results/rates.h"
#include "results/renaming.h"

namespace duet {
namespace {

// What determines the noise of a machine or device of a journal.
struct DeviceNoise {
  std::string kind;  // of the devices: "cuda"
  bool virtual_time = false;
};

std::map<std::string, DeviceNoise> device_noise_of(const JournalContents& journal) {
  std::map<std::string, DeviceNoise> sources;
  for (const JournalRun& run : journal.runs) {
    for (const MachineFacts& machine : run.environment.machines) {
      const std::string kind = machine.devices.empty() ? "" : machine.devices.front().kind;
      sources[machine.name] = {kind, machine.virtual_time};
      for (const DeviceInfo& device : machine.devices) {
        sources[device.name] = {device.kind, machine.virtual_time};
      }
    }
  }
  return sources;
}

struct SideRun {
  const Record* record;
  DeviceNoise source;
};

// The records of one case in all runs of both sides; a side may be empty.
struct Pair {
  CaseId id;
  std::vector<SideRun> base, now;
};

double seconds_of(const Record& record) { return record.seconds.median; }

bool is_measured(const SideRun& run) { return run.record->outcome == Outcome::measured; }

// The record of a side for ComparedCase. `runs` is not empty.
const Record* representative(const std::vector<SideRun>& runs) {
  std::vector<const Record*> measured;
  for (const SideRun& run : runs) {
    const Outcome outcome = run.record->outcome;
    if (outcome == Outcome::wrong || outcome == Outcome::failed) return run.record;
    if (outcome == Outcome::measured) measured.push_back(run.record);
  }
  if (measured.empty()) return runs.front().record;
  std::sort(measured.begin(), measured.end(),
            [](const Record* a, const Record* b) { return seconds_of(*a) < seconds_of(*b); });
  return measured[(measured.size() - 1) / 2];
}

double load_of(const SideRun& run) {
  const std::optional<HostLoad>& load = run.record->load;
  if (run.source.kind != "host" || run.source.virtual_time || !load) return 0;
  return load->others.value_or(0) + load->steal.value_or(0);
}

// The fraction of the ideal of an overlap, and what it depends on.
struct Fraction {
  double value = 0;
  // By how much it changes with the logarithms of the times together and of each side alone: the
  // root of the sum of their squares.
  double sensitivity = 0;
};

// nullopt if the record has a rate, or lacks a metric.
std::optional<Fraction> fraction_of(const Record& record) {
  if (!record.rates.empty()) return std::nullopt;
  const ByName<double>& metrics = record.metrics;
  for (const char* name : {"fraction_of_ideal", "compute_seconds", "communication_seconds"}) {
    const double* found = metrics.find(name);
    if (found == nullptr || !std::isfinite(*found)) return std::nullopt;
  }
  const double compute = metrics.value("compute_seconds");
  const double communication = metrics.value("communication_seconds");
  const double longer = std::max(compute, communication);
  const double shorter = std::min(compute, communication);
  const double together = seconds_of(record);
  if (!(shorter > 0) || !(together > 0)) return std::nullopt;
  const double value = metrics.value("fraction_of_ideal");
  // fraction = longer / together * (longer + shorter - together) / shorter
  const double by_together = longer * (longer + shorter) / (together * shorter);
  const double by_longer = value + longer * longer / (together * shorter);
  const double by_shorter = longer / together - value;
  return Fraction{value, std::hypot(by_together, by_longer, by_shorter)};
}

// The mean sensitivity of the fractions of all runs; 0 if a run has no fraction.
double fraction_scale(const Pair& pair) {
  double sum = 0;
  int count = 0;
  for (const auto* side : {&pair.base, &pair.now}) {
    for (const SideRun& run : *side) {
      if (!is_measured(run)) continue;
      const auto fraction = fraction_of(*run.record);
      if (!fraction) return 0;
      sum += fraction->sensitivity;
      ++count;
    }
  }
  return sum / count;
}

UsualNoise usual_of(const Pair& pair) {
  UsualNoise usual;
  for (const auto* side : {&pair.base, &pair.now}) {
    for (const SideRun& run : *side) {
      const UsualNoise one = usual_noise(run.source.kind, run.source.virtual_time);
      usual = {std::max(usual.share, one.share), std::max(usual.seconds, one.seconds)};
    }
  }
  return usual;
}

// `scale`: fraction_scale().
std::vector<RunFigure> figures_of(const std::vector<SideRun>& runs, double scale) {
  std::vector<RunFigure> figures;
  for (const SideRun& run : runs) {
    if (!is_measured(run)) continue;
    figures.push_back(
        {seconds_of(*run.record), deviation_of_median(run.record->seconds), load_of(run)});
    if (scale > 0) figures.back().figure = fraction_of(*run.record)->value / scale;
  }
  return figures;
}

bool same_work(const Record& base, const Record& now) {
  const Rates a = rates_of(base.id.benchmark, base.cost, 1);
  const Rates b = rates_of(now.id.benchmark, now.cost, 1);
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  const double larger = std::max(a[0].second, b[0].second);
  return a[0].first == b[0].first && std::fabs(a[0].second - b[0].second) <= 1e-6 * larger;
}

// Why two measured records cannot be compared, "" if they can.
std::string obstacle(const Record& base, const Record& now) {
  if (base.mode != now.mode) return fmt::format("mode {}, now {}", base.mode, now.mode);
  if (base.flushed != now.flushed) {
    return now.flushed ? "cache flushed now" : "cache no longer flushed";
  }
  if (!same_work(base, now)) return "not the same work";
  const double ratio = seconds_of(base) / seconds_of(now);
  return std::isfinite(ratio) && ratio > 0 ? "" : "a median of 0";
}

// Why the runs cannot be compared with the first measured one of BASE, "" if they can.
std::string obstacle(const Pair& pair) {
  const Record* first = nullptr;
  for (const auto* side : {&pair.base, &pair.now}) {
    for (const SideRun& run : *side) {
      if (!is_measured(run)) continue;
      if (first == nullptr) first = run.record;
      const std::string reason = obstacle(*first, *run.record);
      if (!reason.empty()) return reason;
    }
  }
  return "";
}

bool is_one_sample(const ComparedCase& one) {
  return one.base->seconds.n == 1 || one.now->seconds.n == 1;
}

// Logarithms of two figures differ by less than this when only a journal's rounding differs.
constexpr double kSameFigure = 1e-8;

// `scale`: fraction_scale().
void take_shift(ComparedCase& one, const Shift& shift, double scale) {
  double noise = 0;  // in percent
  if (scale > 0) {
    one.difference = scale * shift.log_ratio;
    one.difference_noise = scale * shift.half_width;
    noise = 100 * *one.difference_noise;
  } else {
    one.percent = 100 * std::expm1(shift.log_ratio);
    one.noise = noise = -100 * std::expm1(-shift.half_width);
  }
  one.one_sample = is_one_sample(one);
  if (std::fabs(shift.log_ratio) > shift.half_width + kSameFigure) {
    one.change = shift.log_ratio < 0 ? Change::worse : Change::better;
  } else if (noise > kPlainPercent) {
    one.change = Change::too_noisy;
  }
}

bool is_broken(Outcome outcome) { return outcome == Outcome::wrong || outcome == Outcome::failed; }

// Returns true if both sides have times to compare. Otherwise sets `change` and `reason` of `one`.
bool evaluate(ComparedCase& one, const Pair& pair) {
  const Outcome before = one.base->outcome;
  const Outcome after = one.now->outcome;
  if (before == Outcome::measured && after == Outcome::measured) {
    one.reason = obstacle(pair);
    if (!one.reason.empty()) one.change = Change::not_comparable;
    return one.reason.empty();
  }
  if (is_broken(after) && !is_broken(before)) {
    one.change = Change::worse;
    one.broke = true;
    one.reason = fmt::format("{}: {}", name(after), one.now->reason);
  } else if (before == Outcome::skipped && after == Outcome::skipped) {
    one.change = Change::skipped;
  } else {
    one.change = Change::not_comparable;
    one.reason = before == after ? fmt::format("{} in both", name(before))
                                 : fmt::format("{}, now {}", name(before), name(after));
  }
  return false;
}

Renaming renaming_to(const JournalContents& base, const JournalContents& one, bool across) {
  return across ? Renaming::by_place(base, one) : Renaming::same_devices(base, one);
}

// The cases of all journals, with the names of devices of BASE's first journal.
std::vector<Pair> pairs_of(const JournalSide& base, const JournalSide& now, bool across) {
  std::vector<Pair> pairs;
  std::map<std::string, std::size_t> index_of;
  const auto take = [&](const JournalContents& journal, std::vector<SideRun> Pair::*side) {
    const Renaming renaming = renaming_to(*base.front(), journal, across);
    const auto machines = device_noise_of(journal);
    for (const Record* record : results_that_count(journal.runs)) {
      if (record->outcome == Outcome::derived) continue;
      const CaseId id = renaming(record->id);
      const auto [index, fresh] = index_of.emplace(case_key(id), pairs.size());
      if (fresh) pairs.push_back({id, {}, {}});
      const auto machine = machines.find(record->id.device);
      (pairs[index->second].*side)
          .push_back({record, machine == machines.end() ? DeviceNoise{} : machine->second});
    }
  };
  for (const JournalContents* journal : base) take(*journal, &Pair::base);
  for (const JournalContents* journal : now) take(*journal, &Pair::now);
  return pairs;
}

ComparedCase unjudged(const Pair& pair) {
  ComparedCase one;
  one.id = pair.id;
  one.base_runs = static_cast<int>(pair.base.size());
  one.now_runs = static_cast<int>(pair.now.size());
  if (!pair.base.empty()) one.base = representative(pair.base);
  if (!pair.now.empty()) one.now = representative(pair.now);
  return one;
}

constexpr NamedValue<Change> kChanges[] = {{Change::worse, "worse"},
                                           {Change::better, "better"},
                                           {Change::unchanged, "unchanged"},
                                           {Change::too_noisy, "too noisy to tell"},
                                           {Change::missing, "missing"},
                                           {Change::added, "new"},
                                           {Change::skipped, "skipped in both"},
                                           {Change::not_comparable, "not comparable"}};

}  // namespace

const char* name(Change change) { return name_of(kChanges, change); }

std::vector<ComparedCase> compare(const JournalSide& base, const JournalSide& now,
                                  bool across_devices) {
  std::vector<ComparedCase> compared;
  std::vector<CaseRuns> measured;
  std::vector<std::size_t> measured_at;
  std::vector<double> scales;
  bool common = false;
  for (const Pair& pair : pairs_of(base, now, across_devices)) {
    ComparedCase one = unjudged(pair);
    if (one.now == nullptr) {
      one.change = Change::missing;
    } else if (one.base == nullptr) {
      one.change = Change::added;
    } else {
      common = true;
      if (evaluate(one, pair)) {
        scales.push_back(fraction_scale(pair));
        measured.push_back({figures_of(pair.base, scales.back()),
                            figures_of(pair.now, scales.back()), usual_of(pair)});
        measured_at.push_back(compared.size());
      }
    }
    compared.push_back(std::move(one));
  }
  if (!common) {
    throw UsageError(
        fmt::format("{} and {} have no case in common: expected journals of the same "
                    "benchmarks",
                    base.front()->name, now.front()->name));
  }
  const std::vector<Shift> shifts = shifts_of(measured);
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    take_shift(compared[measured_at[i]], shifts[i], scales[i]);
  }
  return compared;
}

std::vector<const ComparedCase*> regressions(const std::vector<ComparedCase>& cases,
                                             double percent) {
  std::vector<const ComparedCase*> found;
  for (const ComparedCase& one : cases) {
    const bool slower = one.percent && *one.percent < -percent;
    const bool less = one.difference && 100 * *one.difference < -percent;
    if (one.broke || (one.change == Change::worse && (slower || less))) found.push_back(&one);
  }
  return found;
}

std::string comparison_rate(const ComparedCase& one) {
  for (const Record* record : {one.base, one.now}) {
    const bool measured = record != nullptr && record->outcome == Outcome::measured;
    if (measured && !record->rates.empty()) return record->rates.front().first;
  }
  return "";
}

}  // namespace duet
