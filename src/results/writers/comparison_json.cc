#include "results/writers/comparison_json.h"

#include <nlohmann/json.hpp>
#include <variant>

#include "results/journal_machines.h"
#include "results/writers/comparison_rate.h"

namespace duet {
namespace {

Record journals_to_json(const JournalSide& side) {
  Record journals = Record::array();
  for (const JournalContents* journal : side) {
    Record machines = Record::array();
    for (const JournalMachine& machine : machines_in(journal->records)) {
      machines.push_back({{"name", machine.name}, {"models", machine.models}});
    }
    journals.push_back({{"file", journal->name}, {"machines", std::move(machines)}});
  }
  return journals;
}

Record counts_to_json(const std::vector<ComparedCase>& cases) {
  Record counts = Record::object();
  for (const Change change :
       {Change::worse, Change::better, Change::too_noisy, Change::unchanged, Change::missing,
        Change::added, Change::skipped, Change::not_comparable}) {
    counts[name(change)] = 0;
  }
  for (const ComparedCase& one : cases) {
    Record& count = counts[name(one.change)];
    count = count.get<int>() + 1;
  }
  return counts;
}

Record number_or_null(const std::optional<double>& number) {
  return number ? Record(*number) : Record();
}

Record side_to_json(const Record* record, int runs, const std::string& rate) {
  if (record == nullptr) return {};
  Record side = {{"runs", runs}, {"outcome", name(outcome_of(*record))}};
  if (outcome_of(*record) != Outcome::measured) return side;
  if ((*record)["rates"].contains(rate)) side["rate"] = (*record)["rates"][rate];
  for (const char* figure : {"median", "ci_low", "ci_high", "n"}) {
    side["seconds"][figure] = (*record)["seconds"][figure];
  }
  return side;
}

Record case_to_json(const ComparedCase& one) {
  Record out = {{"benchmark", one.id.benchmark},
                {"device", one.id.device},
                {"engine", one.id.engine},
                {"case", Record::object()}};
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
  out["rate"] = rate.empty() ? Record() : Record(rate);
  out["base"] = side_to_json(one.base, one.base_runs, rate);
  out["new"] = side_to_json(one.now, one.now_runs, rate);
  return out;
}

}  // namespace

std::string comparison_json(const JournalSide& base, const JournalSide& now,
                            const std::vector<ComparedCase>& cases) {
  Record out = {{"type", "comparison"}, {"schema", kJournalSchema}};
  out["base"] = journals_to_json(base);
  out["new"] = journals_to_json(now);
  out["counts"] = counts_to_json(cases);
  out["cases"] = Record::array();
  for (const ComparedCase& one : cases) out["cases"].push_back(case_to_json(one));
  return out.dump(2, ' ', false, Record::error_handler_t::replace) + "\n";
}

}  // namespace duet
