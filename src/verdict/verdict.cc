#include "verdict/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/names.h"
#include "results/host_load.h"
#include "results/rates.h"
#include "results/record_kind.h"

namespace duet {
namespace {

constexpr const char* kComparison = "no verdict on the machine, where another engine passes";

// The model of all devices. For unlike devices, and for one that ranks share, a text that no spec
// has.
std::string model_of(const MachineFacts& machine) {
  std::string model;
  std::set<std::string> buses;
  for (const DeviceInfo& device : machine.devices) {
    if (!device.bus.empty() && !buses.insert(device.bus).second) {
      return device.model + " shared by several ranks";
    }
    if (model.empty()) model = device.model;
    if (device.model != model) return model + " and others";
  }
  return model;
}

const RecordKind& kind_of(const Record& record) { return record_kind(record.id.benchmark); }

// "": none.
std::string peak_of(const Record& record) {
  const auto peak = kind_of(record).peak;
  return peak != nullptr ? peak(record.id) : "";
}

std::string baseline_of(const Record& record) {
  const auto baseline = kind_of(record).baseline;
  return baseline != nullptr ? baseline(record.id) : "";
}

Rates rates_in(const Record& record, double seconds) {
  return rates_of(record.id.benchmark, record.cost, seconds);
}

void take_peak(MeasuredPeaks& peaks, const Record& record) {
  const Rates usual = rates_in(record, record.seconds.median);
  const Rates fastest = rates_in(record, record.seconds.min);
  if (usual.empty() || fastest.empty()) return;
  MeasuredPeak& peak = peaks[peak_of(record)];
  peak = {record, usual[0].first, usual[0].second, fastest[0].second};
  peak.record.samples.clear();  // nobody asks for them, and sites copy peaks
}

std::string shown(const std::string& rate, double value) {
  return fmt::format("{:.4g} {}", value, rate_heading(rate));
}

Verdict without(const Record& record, const std::string& reason) {
  Verdict verdict;
  verdict.sentence = "no expectation: " + reason;
  if (record.outcome != Outcome::measured) return verdict;
  const Rates rates = rates_in(record, record.seconds.median);
  if (rates.empty()) return verdict;
  verdict.rate = rates[0].first;
  verdict.value = rates[0].second;
  return verdict;
}

Verdict busy(Verdict verdict, const std::string& what, const std::string& load) {
  verdict.word = Word::busy;
  verdict.sentence = fmt::format("unknown: busy: while {} was measured, {}", what, load);
  verdict.advice = "measure again on a quiet machine";
  return verdict;
}

std::string key_without_engine(const Record& record) {
  CaseId id = record.id;
  id.engine.clear();
  return case_key(id);
}

// Turns LOW into a comparison with an engine of the same case that passes.
void compare(Verdict& verdict, const std::string& other, double reached) {
  verdict.word = Word::no_expectation;
  verdict.sentence = fmt::format("{}: {}, and {} reaches {}", kComparison, verdict.sentence, other,
                                 shown(verdict.rate, reached));
  verdict.advice.clear();
}

// With as many digits, from two on, as show on which side of the limit it is.
std::string share_text(double share) {
  for (int digits = 2;; ++digits) {
    const std::string text = fmt::format("{:.{}f}", share, digits);
    if ((std::stod(text) < kLowBelow) == (share < kLowBelow)) return text;
  }
}

void weigh(Verdict& verdict, const Expectation& expectation) {
  const std::string value = shown(verdict.rate, verdict.value);
  const double high = expectation.measured_bound ? kHighAboveMeasured : kHighAbove;
  if (expectation.bound && verdict.value > high * *expectation.bound) {
    verdict.word = Word::suspect_high;
    verdict.sentence = fmt::format(
        "{} is {:.2f} times the {} of {}: the measurement is wrong until this is explained", value,
        verdict.value / *expectation.bound, expectation.measured_bound ? "measured peak" : "bound",
        shown(verdict.rate, *expectation.bound));
    verdict.advice =
        expectation.measured_bound
            ? "measure again on a quiet machine: the peak itself may have been disturbed"
            : "look whether the data sat in a cache (--flush), and whether this is the "
              "device that its name says";
    return;
  }
  if (!expectation.expected) {
    verdict.sentence = "no expectation: " + expectation.unknown;
    return;
  }
  const double share = verdict.value / *expectation.expected;
  verdict.word = share < kLowBelow ? Word::low : Word::pass;
  verdict.sentence = fmt::format("{} is {} of the {} expected: {}", value, share_text(share),
                                 shown(verdict.rate, *expectation.expected), expectation.basis);
  if (verdict.word == Word::low) verdict.advice = expectation.advice;
}

constexpr NamedValue<Word> kWords[] = {{Word::pass, "PASS"},
                                       {Word::low, "LOW"},
                                       {Word::suspect_high, "SUSPECT-HIGH"},
                                       {Word::busy, "unknown: busy"},
                                       {Word::no_expectation, "no expectation"}};

}  // namespace

const char* name(Word word) { return name_of(kWords, word); }

bool is_doubt(Word word) { return word == Word::low || word == Word::suspect_high; }

bool is_judged(Word word) { return word == Word::pass || is_doubt(word); }

void Evaluator::see(const Environment& environment) {
  for (const MachineFacts& machine : environment.machines) {
    describe(places_[machine.name], machine);
    for (const DeviceInfo& device : machine.devices) {
      describe(parts_[device.name], {machine.name, machine.virtual_time, {device}, {}});
    }
  }
  variables_ = environment.run ? environment.run->variables : ByName<std::string>();
}

void Evaluator::describe(DeviceUnderVerdict& place, const MachineFacts& machine) {
  const std::string model = model_of(machine);
  if (model != place.model) {
    place.peaks = {};
    place.disturbed.clear();
  }
  place.machine = machine;
  place.model = model;
}

const Evaluator::DeviceUnderVerdict* Evaluator::place_of(const Record& record) const {
  const std::string& device = record.id.device;
  for (const auto* places : {&places_, &parts_}) {
    if (const auto found = places->find(device); found != places->end()) return &found->second;
  }
  return nullptr;
}

void Evaluator::see(const Record& record) {
  auto* const place = const_cast<DeviceUnderVerdict*>(place_of(record));
  if (place == nullptr || record.outcome != Outcome::measured) return;
  if (kind_of(record).is_peak) {
    const auto load = busy_with(record);
    place->disturbed.erase(peak_of(record));
    if (load) place->disturbed[peak_of(record)] = load_text(*load);
    if (!load) take_peak(place->peaks, record);
  }
  const Verdict alone = evaluate_alone(record);
  auto& passed = passed_[key_without_engine(record)];
  passed.erase(record.id.engine);
  if (alone.word == Word::pass) passed[record.id.engine] = alone.value;
  see_baseline(record, alone);
}

// The fastest one counts.
void Evaluator::see_baseline(const Record& record, const Verdict& verdict) {
  const std::string name = baseline_of(record);
  if (name.empty()) return;
  const double seconds = record.seconds.median;
  const auto [known, is_new] = baselines_.try_emplace(name);
  if (is_new || seconds < known->second.seconds) known->second = {seconds, verdict};
}

std::string Evaluator::warning(const Record& record) const {
  const std::string over = record.outcome == Outcome::derived ? baseline_of(record) : "";
  if (over.empty()) return "";
  const auto baseline = baselines_.find(over);
  if (baseline == baselines_.end()) return "the journal does not have its baseline";
  const Verdict& verdict = baseline->second.verdict;
  if (verdict.word == Word::pass) return "";
  return fmt::format("its baseline is not PASS: {}",
                     verdict.word == Word::no_expectation
                         ? verdict.sentence
                         : fmt::format("{}, {}", name(verdict.word), verdict.sentence));
}

Site Evaluator::site(const DeviceUnderVerdict& place) const {
  return {place.machine, place.model, find_device_spec(place.model), place.peaks, variables_};
}

Verdict Evaluator::evaluate(const Record& record) const {
  Verdict verdict = evaluate_alone(record);
  const DeviceUnderVerdict* place = place_of(record);
  verdict.simulated = place != nullptr && place->machine.virtual_time;
  const auto passed = passed_.find(key_without_engine(record));
  if (verdict.word != Word::low || passed == passed_.end()) return verdict;
  const auto best =
      std::max_element(passed->second.begin(), passed->second.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (best != passed->second.end()) compare(verdict, best->first, best->second);
  return verdict;
}

Verdict Evaluator::evaluate_alone(const Record& record) const {
  const DeviceUnderVerdict* place = place_of(record);
  if (place == nullptr) return without(record, "the journal does not describe the device");
  if (const auto load = busy_with(record)) {
    return busy(without(record, ""), "it", load_text(*load));
  }
  const RecordKind& kind = kind_of(record);
  if (kind.is_peak) return without(record, "it is what the other figures are held against");
  if (kind.expect == nullptr) {
    return without(record, "nothing is promised for " + record.id.benchmark);
  }
  const std::vector<DeviceInfo>& devices = place->machine.devices;
  const bool cpu = !devices.empty() && devices.front().kind == "host";
  const Site where = site(*place);
  if (where.spec == nullptr && !cpu) {
    return without(record, fmt::format("specs/devices has no \"{}\"", where.model));
  }
  Verdict verdict = without(record, "the work moved and computed nothing");
  if (verdict.rate.empty()) return verdict;
  const Expectation expectation = kind.expect(record, where);
  const bool open = !expectation.expected && !expectation.bound;
  const auto beside = place->disturbed.find(peak_of(record));
  if (open && beside != place->disturbed.end()) {
    return busy(std::move(verdict), "the CPU's peak", beside->second);
  }
  verdict.expected = expectation.expected;
  verdict.bound = expectation.bound;
  weigh(verdict, expectation);
  return verdict;
}

std::map<std::string, Ceilings> Evaluator::ceilings() const {
  std::map<std::string, Ceilings> all;
  for (const auto& [device, place] : places_) {
    Ceilings one{place.model, find_device_spec(place.model), place.peaks, 0};
    if (one.spec != nullptr && one.spec->link) {
      const LinkSpec& link = *one.spec->link;
      one.link_gb_per_s = link.mesh ? link.gb_per_s / link.count : link.gb_per_s;
    }
    all.emplace(device, std::move(one));
  }
  return all;
}

}  // namespace duet
