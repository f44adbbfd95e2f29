#include <nlohmann/json.hpp>
#include <variant>

#include "results/compare.h"
#include "results/journal_machines.h"
#include "results/record_json.h"
#include "results/writers/comparison.h"

namespace duet {
namespace {

Json journals_to_json(const JournalSide& side) {
  Json journals = Json::array();
  for (const JournalContents* journal : side) {
    Json machines = Json::array();
    for (const JournalMachine& machine : machines_in(journal->runs)) {
      machines.push_back({{"name", machine.name}, {"models", machine.models}});
    }
    journals.push_back({{"file", journal->name}, {"machines", std::move(machines)}});
  }
  return journals;
}

Json counts_to_json(const std::vector<ComparedCase>& cases) {
  Json counts = Json::object();
  for (const Change change :
       {Change::worse, Change::better, Change::too_noisy, Change::unchanged, Change::missing,
        Change::added, Change::skipped, Change::not_comparable}) {
    counts[name(change)] = 0;
  }
  for (const ComparedCase& one : cases) {
    Json& count = counts[name(one.change)];
    count = count.get<int>() + 1;
  }
  return counts;
}

Json number_or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

Json side_to_json(const Record* record, int runs, const std::string& rate) {
  if (record == nullptr) return {};
  Json side = {{"runs", runs}, {"outcome", name(record->outcome)}};
  if (record->outcome != Outcome::measured) return side;
  if (const double* value = record->rates.find(rate)) side["rate"] = *value;
  const Seconds& seconds = record->seconds;
  side["seconds"] = {{"median", seconds.median},
                     {"ci_low", seconds.ci_low},
                     {"ci_high", seconds.ci_high},
                     {"n", seconds.n}};
  return side;
}

Json case_to_json(const ComparedCase& one) {
  Json out = {{"benchmark", one.id.benchmark},
              {"device", one.id.device},
              {"engine", one.id.engine},
              {"case", Json::object()}};
  for (const auto& [axis, value] : one.id.axes) {
    std::visit([&, &key = axis](const auto& v) { out["case"][key] = v; }, value);
  }
  const std::string rate = comparison_rate(one);
  out["verdict"] = name(one.change);
  out["broke"] = one.broke;
  out["reason"] = one.reason;
  out["change_percent"] = number_or_null(one.percent);
  out["noise_percent"] = number_or_null(one.noise);
  out["difference"] = number_or_null(one.difference);
  out["difference_noise"] = number_or_null(one.difference_noise);
  out["one_sample"] = one.one_sample;
  out["rate"] = rate.empty() ? Json() : Json(rate);
  out["base"] = side_to_json(one.base, one.base_runs, rate);
  out["new"] = side_to_json(one.now, one.now_runs, rate);
  return out;
}

}  // namespace

std::string comparison_json(const JournalSide& base, const JournalSide& now,
                            const std::vector<ComparedCase>& cases) {
  Json out = {{"type", "comparison"}, {"schema", kJournalSchema}};
  out["base"] = journals_to_json(base);
  out["new"] = journals_to_json(now);
  out["counts"] = counts_to_json(cases);
  out["cases"] = Json::array();
  for (const ComparedCase& one : cases) out["cases"].push_back(case_to_json(one));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace duet
