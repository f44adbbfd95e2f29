#include "fleet/journals.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/thread.h"
#include "core/units.h"
#include "fleet/cases.h"
#include "history/store.h"
#include "results/journal.h"
#include "results/writers/axis_columns.h"

namespace duet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBatch = 64;  // journals that are in memory at once
constexpr const char* kEnding = ".jsonl";

std::vector<std::string> files_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw UsageError(
        fmt::format("{}: no such file: expected a journal, a folder of journals or a store", path));
  }
  if (!fs::is_directory(path, ignored)) return {path};
  std::vector<std::string> found;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(path, options, ignored)) {
    const bool journal = entry.path().extension() == kEnding && entry.is_regular_file(ignored);
    if (journal) found.push_back(entry.path().string());
  }
  if (found.empty()) {
    throw UsageError(fmt::format("{}: expected a folder of journals, *{}", path, kEnding));
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Only of a regular file: what is read of a pipe is gone.
bool is_store(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  constexpr std::string_view kHead("SQLite format 3\0", 16);
  std::string head(kHead.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return file && head == kHead;
}

// What a thread makes of one journal.
struct ReadJournal {
  JournalContents contents;
  std::vector<std::string> nodes;                             // by run: the node of process 0
  std::vector<FleetCase> cases;                               // point into `contents`
  std::vector<std::pair<std::size_t, const Record*>> faults;  // run, and a case without a figure
  std::string reason;                                         // why it cannot be read; "": it can
};

std::string node_name(const Environment& environment, const std::string& path, NodeNaming naming) {
  const bool named =
      naming == NodeNaming::host && environment.run && !environment.run->host.host_name.empty();
  return named ? environment.run->host.host_name : fs::path(path).stem().string();
}

// The last result of each case of each node, by node and case: a journal may be of a resumed run,
// or of several nodes one after the other.
std::set<const Record*> counting_results(const ReadJournal& journal) {
  std::unordered_map<std::string, const Record*> last;
  for (std::size_t i = 0; i < journal.nodes.size(); ++i) {
    for (const Record& record : journal.contents.runs[i].results) {
      last[journal.nodes[i] + '\n' + case_key(record.id)] = &record;
    }
  }
  std::set<const Record*> counting;
  for (const auto& [key, record] : last) counting.insert(record);
  return counting;
}

void take_cases(ReadJournal& journal, const FleetOptions& options) {
  const std::vector<JournalRun>& runs = journal.contents.runs;
  for (const JournalRun& run : runs) {
    journal.nodes.push_back(node_name(run.environment, journal.contents.name, options.naming));
  }
  const std::set<const Record*> counting = counting_results(journal);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const FleetRun of(runs[i].environment, journal.nodes[i]);
    for (const Record& record : runs[i].results) {
      if (counting.count(&record) == 0) continue;
      if (auto one = of.case_of(record)) {
        journal.cases.push_back(std::move(*one));
      } else if (record.outcome != Outcome::derived) {
        journal.faults.emplace_back(i, &record);
      }
    }
  }
}

void read_one(ReadJournal& journal, const std::string& path, const FleetOptions& options) {
  try {
    journal.contents = read_journal(path, JournalParts::figures);
    if (journal.contents.runs.empty()) {
      throw UsageError(path + ": empty: expected a journal, as --json writes");
    }
    take_cases(journal, options);
  } catch (const UsageError& error) {
    journal.reason = error.what();
  }
}

// Several samples of one case at one place, of several journals.
struct Repeat {
  FleetSample sample;
  std::string time_utc;
};

class FleetInputMaker {
 public:
  explicit FleetInputMaker(const FleetOptions& options) : options_(options) {}

  void add_files(const std::vector<std::string>& paths) {
    for (std::size_t begin = 0; begin < paths.size(); begin += kBatch) {
      std::vector<ReadJournal> batch(std::min(kBatch, paths.size() - begin));
      read_batch(batch, &paths[begin]);
      for (std::size_t i = 0; i < batch.size(); ++i) add(batch[i], paths[begin + i]);
    }
  }

  void add_store(const std::string& path) {
    Store(path).each_run([&](JournalContents contents) {
      ReadJournal journal;
      journal.contents = std::move(contents);
      take_cases(journal, {NodeNaming::host, options_.repeats});
      add(journal, path);
    });
  }

  FleetInput finish() {
    take_repeats();
    count_lacking();
    // Not every run writes an end: where most did, one without it was ended from outside.
    if (ended_ > static_cast<int>(endless_.size())) {
      for (const auto& [name, path] : endless_) node(name).incomplete.push_back(path);
    }
    if (input_.journals == 0) {
      const bool none = input_.broken.empty();
      throw UsageError(none ? "fleet: expected journals with figures" : input_.broken[0].reason);
    }
    return std::move(input_);
  }

 private:
  void read_batch(std::vector<ReadJournal>& batch, const std::string* paths) const {
    std::atomic<std::size_t> next{0};
    std::vector<std::exception_ptr> errors(batch.size());
    const auto work = [&] {
      for (std::size_t i = next++; i < batch.size(); i = next++) {
        try {
          read_one(batch[i], paths[i], options_);
        } catch (...) {
          errors[i] = std::current_exception();
        }
      }
    };
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    try {
      for (std::size_t i = 1; i < std::min(cores, batch.size()); ++i) {
        threads.push_back(start_thread("a thread that reads journals", work));
      }
    } catch (const Error&) {  // fewer threads read all the same
    }
    work();
    for (std::thread& each : threads) each.join();
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
  }

  FleetNode& node(const std::string& name) {
    const auto number = static_cast<std::size_t>(input_.samples.node(name));
    if (number >= input_.nodes.size()) input_.nodes.resize(number + 1);
    return input_.nodes[number];
  }

  void add(const ReadJournal& journal, const std::string& path) {
    if (!journal.reason.empty()) {
      input_.broken.push_back({path, journal.reason});
      return;
    }
    ++input_.journals;
    const JournalContents& contents = journal.contents;
    input_.warnings.insert(input_.warnings.end(), contents.warnings.begin(),
                           contents.warnings.end());
    std::set<std::string> names;
    for (std::size_t i = 0; i < contents.runs.size(); ++i) {
      FleetNode& one = node(journal.nodes[i]);
      if (names.insert(journal.nodes[i]).second) ++one.journals;
      add_settings(one, contents.runs[i].environment);
    }
    for (const auto& [run, record] : journal.faults) add(node(journal.nodes[run]), *record);
    const bool cut =
        !contents.warnings.empty() || journal.cases.size() + journal.faults.size() == 0;
    if (cut) node(journal.nodes.back()).incomplete.push_back(path);
    if (!contents.ends.empty()) {
      ++ended_;
    } else if (!cut) {
      endless_.emplace_back(journal.nodes.back(), path);
    }
    for (const FleetCase& one : journal.cases) add(one);
  }

  // Those of the newest environment that tells a setting.
  static void add_settings(FleetNode& node, const Environment& environment) {
    const std::string time = environment.run ? environment.run->time_utc : "";
    auto settings = settings_of(environment);
    if (time >= node.settings_time) {
      node.settings_time = time;
      settings.swap(node.settings);
    }
    node.settings.merge(settings);
  }

  static void add(FleetNode& node, const Record& record) {
    if (record.outcome == Outcome::skipped) node.skipped = record.reason;
    if (record.outcome != Outcome::failed && record.outcome != Outcome::wrong) return;
    node.failed.push_back({line_of(record.id), name(record.outcome), record.reason});
  }

  void add(const FleetCase& one) {
    const auto known = figures_.find(one.key);
    int figure = 0;
    if (known != figures_.end()) {
      figure = known->second;
    } else {
      figure = input_.samples.figure(one.key, one.figure());
      figures_[one.key] = figure;
    }
    std::vector<int> units;
    for (const NamedUnit& unit : one.units) {
      node(unit.node);
      units.push_back(input_.samples.unit(input_.samples.node(unit.node), unit.unit));
    }
    const int place = input_.samples.place(units);
    repeats_.push_back({{figure, place, one.value, one.usual, one.deviation}, one.time_utc});
  }

  // One sample of each figure and place.
  void take_repeats() {
    const auto same = [](const Repeat& a, const Repeat& b) {
      return a.sample.figure == b.sample.figure && a.sample.place == b.sample.place;
    };
    std::stable_sort(repeats_.begin(), repeats_.end(), [](const Repeat& a, const Repeat& b) {
      return std::pair(a.sample.figure, a.sample.place) <
             std::pair(b.sample.figure, b.sample.place);
    });
    for (auto begin = repeats_.begin(); begin != repeats_.end();) {
      auto end = begin + 1;
      while (end != repeats_.end() && same(*begin, *end)) ++end;
      const auto by = [&](const Repeat& a, const Repeat& b) {
        return options_.repeats == Repeats::latest ? a.time_utc < b.time_utc
                                                   : a.sample.value < b.sample.value;
      };
      std::stable_sort(begin, end, by);
      const auto last = (end - begin) - 1;
      input_.samples.add(begin[options_.repeats == Repeats::latest ? last : last / 2].sample);
      begin = end;
    }
    repeats_.clear();
  }

  // Cases at a position within a node that at least half of the nodes, and two, have.
  void count_lacking() {
    std::map<std::pair<int, int>, std::vector<int>> have;  // figure and position: places
    const FleetSamples& samples = input_.samples;
    const auto node_of = [&](int place) {
      const int unit = samples.places()[static_cast<std::size_t>(place)].units[0];
      return samples.units()[static_cast<std::size_t>(unit)].node;
    };
    std::set<int> measured;  // nodes with cases of their own
    for (const FleetSample& one : samples.samples()) {
      const FleetPlace& place = samples.places()[static_cast<std::size_t>(one.place)];
      const auto& units = samples.units();
      const bool within = std::all_of(place.units.begin(), place.units.end(), [&](int unit) {
        return units[static_cast<std::size_t>(unit)].node == node_of(one.place);
      });
      if (!within) continue;
      measured.insert(node_of(one.place));
      have[{one.figure, place.position}].push_back(one.place);
    }
    for (const auto& [key, places] : have) {
      if (2 * places.size() < measured.size() || places.size() < 2) continue;
      std::set<int> lacking = measured;
      for (const int place : places) lacking.erase(node_of(place));
      for (const int each : lacking) {
        FleetNode& node = input_.nodes[static_cast<std::size_t>(each)];
        if (node.lacking++ > 0) continue;
        node.lacked = case_at(key.first, places.front());
      }
    }
  }

  // "gemm, onednn, ... on cuda:3".
  std::string case_at(int figure, int place) const {
    const FleetSamples& samples = input_.samples;
    std::string where;
    for (const int unit : samples.places()[static_cast<std::size_t>(place)].units) {
      const std::string& name = samples.units()[static_cast<std::size_t>(unit)].name;
      if (!name.empty()) where += (where.empty() ? " on " : " > ") + name;
    }
    return samples.figures()[static_cast<std::size_t>(figure)].text + where;
  }

  FleetOptions options_;
  FleetInput input_;
  std::map<std::string, int> figures_;
  std::vector<Repeat> repeats_;
  std::vector<std::pair<std::string, std::string>> endless_;  // nodes and journals without an end
  int ended_ = 0;
};

}  // namespace

FleetInput read_fleet(const std::vector<std::string>& paths, const FleetOptions& options) {
  std::vector<std::string> journals, stores;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    for (std::string& file : files_of(path)) {
      std::error_code unknown;  // of a pipe
      const fs::path same = fs::weakly_canonical(file, unknown);
      if (!seen.insert(unknown ? file : same.string()).second) continue;
      (is_store(file) ? stores : journals).push_back(std::move(file));
    }
  }
  FleetInputMaker maker(options);
  maker.add_files(journals);
  for (const std::string& store : stores) maker.add_store(store);
  return maker.finish();
}

}  // namespace duet
