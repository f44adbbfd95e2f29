// Journals compared; see compare.h.
#include "results/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "results/rates.h"
#include "results/renaming.h"

namespace duet {
namespace {

struct CaseRecord {
  std::string key;
  CaseId id;
  const Record* record;
};

std::vector<CaseRecord> cases_of(const JournalContents& journal, const Renaming& renaming) {
  std::vector<CaseRecord> cases;
  for (const std::size_t place : results_that_count(journal.records)) {
    const Record& record = journal.records[place];
    if (outcome_of(record) == Outcome::derived) continue;
    CaseId id = renaming(case_of(record));
    std::string key = case_key(id);
    cases.push_back({std::move(key), std::move(id), &record});
  }
  return cases;
}

struct Interval {
  double low, high;  // seconds
};

// An interval never excludes its own median, so that what is worse is never faster.
Interval interval_of(const Record& seconds) {
  const double median = seconds["median"].get<double>();
  if (seconds["n"] == 1) return {median, median};
  return {std::min(median, seconds["ci_low"].get<double>()),
          std::max(median, seconds["ci_high"].get<double>())};
}

bool same_work(const Record& base, const Record& now) {
  const Rates a = rates_from(finished_of(base).cost, 1);
  const Rates b = rates_from(finished_of(now).cost, 1);
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  const double larger = std::max(a[0].second, b[0].second);
  return a[0].first == b[0].first && std::fabs(a[0].second - b[0].second) <= 1e-6 * larger;
}

// Why two measured records cannot be compared, "" if they can.
std::string obstacle(const Record& base, const Record& now) {
  if (base["mode"] != now["mode"]) {
    return fmt::format("mode {}, now {}", base["mode"].get<std::string>(),
                       now["mode"].get<std::string>());
  }
  if (base["flushed"] != now["flushed"]) {
    return now["flushed"].get<bool>() ? "cache flushed now" : "cache no longer flushed";
  }
  if (!same_work(base, now)) return "not the same work";
  const double ratio =
      base["seconds"]["median"].get<double>() / now["seconds"]["median"].get<double>();
  return std::isfinite(ratio) && ratio > 0 ? "" : "a median of 0";
}

void compare_times(ComparedCase& one) {
  const Record& base = (*one.base)["seconds"];
  const Record& now = (*one.now)["seconds"];
  one.reason = obstacle(*one.base, *one.now);
  if (!one.reason.empty()) {
    one.change = Change::not_comparable;
    return;
  }
  one.percent = 100 * (base["median"].get<double>() / now["median"].get<double>() - 1);
  one.one_sample = base["n"] == 1 || now["n"] == 1;
  const Interval before = interval_of(base);
  const Interval after = interval_of(now);
  if (after.low > before.high) one.change = Change::worse;
  if (after.high < before.low) one.change = Change::better;
}

bool is_broken(Outcome outcome) { return outcome == Outcome::wrong || outcome == Outcome::failed; }

void judge(ComparedCase& one) {
  const Outcome before = outcome_of(*one.base);
  const Outcome after = outcome_of(*one.now);
  if (before == Outcome::measured && after == Outcome::measured) return compare_times(one);
  if (is_broken(after) && !is_broken(before)) {
    one.change = Change::worse;
    one.broke = true;
    one.reason = fmt::format("{}: {}", name(after), reason_of(*one.now));
  } else if (before == Outcome::skipped && after == Outcome::skipped) {
    one.change = Change::skipped;
  } else {
    one.change = Change::not_comparable;
    one.reason = before == after ? fmt::format("{} in both", name(before))
                                 : fmt::format("{}, now {}", name(before), name(after));
  }
}

}  // namespace

const char* name(Change change) {
  switch (change) {
    case Change::worse:
      return "worse";
    case Change::better:
      return "better";
    case Change::unchanged:
      return "unchanged";
    case Change::missing:
      return "missing";
    case Change::added:
      return "new";
    case Change::skipped:
      return "skipped in both";
    case Change::not_comparable:
      return "not comparable";
  }
  return "";
}

std::vector<ComparedCase> compare(const JournalContents& base, const JournalContents& now,
                                  bool across_devices) {
  const Renaming renaming =
      across_devices ? Renaming::by_place(base, now) : Renaming::same_devices(base, now);
  std::vector<ComparedCase> compared;
  std::map<std::string, std::size_t> places;
  for (const CaseRecord& one : cases_of(base, {})) {
    places[one.key] = compared.size();
    compared.push_back({one.id, one.record, nullptr, Change::missing, false, {}, false, ""});
  }
  bool common = false;
  for (const CaseRecord& one : cases_of(now, renaming)) {
    const auto place = places.find(one.key);
    if (place == places.end()) {
      compared.push_back({one.id, nullptr, one.record, Change::added, false, {}, false, ""});
      continue;
    }
    ComparedCase& both = compared[place->second];
    both.now = one.record;
    both.change = Change::unchanged;
    judge(both);
    common = true;
  }
  if (common) return compared;
  throw UsageError(
      fmt::format("{} and {} have no case in common: expected journals of the same "
                  "benchmarks",
                  base.name, now.name));
}

std::vector<const ComparedCase*> regressions(const std::vector<ComparedCase>& cases,
                                             double percent) {
  std::vector<const ComparedCase*> found;
  for (const ComparedCase& one : cases) {
    const bool slower = one.change == Change::worse && one.percent && *one.percent < -percent;
    if (one.broke || slower) found.push_back(&one);
  }
  return found;
}

}  // namespace duet
