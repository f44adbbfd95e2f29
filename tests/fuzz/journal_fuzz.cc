// Feeds mutants of real journals to the journal reader, and those that it accepts to all code that
// reads journals. The reader may throw UsageError. The later code may not throw, and nothing may
// crash.
//
//     journal_fuzz CORPUS FIRST COUNT    mutants FIRST to FIRST + COUNT - 1; their text is printed
//                                        if COUNT is 1
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "copy/cases.h"
#include "core/error.h"
#include "corpus.h"
#include "fleet/cases.h"
#include "report/data.h"
#include "results/compare.h"
#include "results/writers/comparison.h"
#include "results/writers/console.h"
#include "results/writers/csv.h"
#include "soak/record.h"
#include "soak/summary.h"
#include "verdict/summary.h"

namespace duet {
namespace {

// Runs code that may throw UsageError for two journals that do not fit together ("other devices",
// "nothing in common").
void may_refuse(const std::function<void()>& use) {
  try {
    use();
  } catch (const UsageError&) {
  }
}

void compare_both(const JournalContents& base, const JournalContents& now, bool across) {
  const auto cases = compare(base, now, across);
  comparison_table(cases, true, 80);
  comparison_counts(cases);
  comparison_csv(cases);
  comparison_json({&base}, {&now}, cases);
  regressions(cases, 5);
}

void write_all(const JournalContents& journal, Detail detail) {
  Section section{"copy", "cuda", "8 x Model", {}};
  std::vector<Finished> finished;
  for (const auto& [key, record] : journal.by_case()) {
    finished.push_back(finished_of(*record));
    if (record->outcome != Outcome::derived) section.cases.push_back(record->id);
  }
  copy_curves(finished);
  std::ostringstream out;
  ConsoleWriter console(out, /*colour=*/true, detail);
  const Section with_metrics{"overlap", "cuda", "8 x Model", {}};
  CsvWriter csv({section, with_metrics}, [&](std::string_view text) { out << text; });
  console.begin(section);
  for (const JournalRun& run : journal.runs) {
    journal_line(run.environment);
    for (const Record& record : run.results) {
      journal_line(record);
      console.result(record, true);
      csv.result(record, true);
    }
  }
  console.end();
}

void make_page(const JournalContents& journal) {
  // Bytes that are no UTF-8 are replaced, as the page's text is.
  report_data({{journal.name, journal.runs, journal.warnings}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Does what `--resume` does with the journal in this environment.
void evaluate_all(const JournalContents& journal, const Environment& environment) {
  VerdictSummary summary(environment);
  for (const auto& [key, record] : journal.by_case()) summary.result(*record, true);
  summary.text();
}

// Calls all code of Duet that takes accepted journals. New code of that sort is added here.
void take_for_fleet(const JournalContents& journal) {
  for (const JournalRun& run : journal.runs) {
    const FleetRun of(run.environment, "node");
    settings_of(run.environment);
    for (const Record& record : run.results) {
      if (const auto one = of.case_of(record)) one->figure();
      case_of_key(case_key(record.id));
    }
  }
}

// What a soak does with the rounds of the journal that it goes on with.
void judge_soak(const JournalContents& journal) {
  SoakReport report;
  report.devices = {"sim:h200:devices=2:0", "sim:h200:devices=2:1", "another"};
  report.models.assign(report.devices.size(), "H200");
  report.slow_below = 0.7;
  for (const JournalRun& run : journal.runs) {
    for (const Record& record : run.results) {
      if (auto round = soak_round_of(record, report.devices)) {
        report.rounds.push_back(std::move(*round));
      }
    }
  }
  one_line_of(report);
  lines_of(report);
  prometheus_text(report, 0);
}

void use(const JournalContents& journal, const JournalContents& whole, bool page) {
  for (const Detail detail : {Detail::short_tables, Detail::every_case}) write_all(journal, detail);
  may_refuse([&] { compare_both(journal, whole, /*across=*/false); });
  may_refuse([&] { compare_both(whole, journal, /*across=*/true); });
  for (const JournalRun& run : journal.runs) {
    may_refuse([&] { check_same_devices(whole.name, whole, run.environment); });
    evaluate_all(journal, run.environment);
  }
  const Environment& now = whole.runs.front().environment;
  may_refuse([&] { check_same_devices(journal.name, journal, now); });
  may_refuse([&] { check_same_processes(journal.name, journal, now); });
  take_for_fleet(journal);
  judge_soak(journal);
  if (page) make_page(journal);
}

// The page's data holds more than the journal: an eighth of the mutants is enough.
constexpr std::uint64_t kPageEvery = 8;

struct Progress {
  std::uint64_t number;  // number of the mutant that is being read
  std::uint64_t accepted;
};

// True if the reader accepted the mutant. Lets errors of the later code through.
bool accepts(const Mutant& mutant, bool page) {
  JournalContents journal;
  try {
    journal = parse_journal("mutant", mutant.text);
  } catch (const UsageError&) {
    return false;
  }
  use(journal, mutant.origin->journal, page);
  return true;
}

constexpr std::uint64_t kWorkers = 2;

// Every kWorkers-th mutant before `end`, from progress.number on.
int feed(const std::vector<Seed>& corpus, std::uint64_t end, bool show, Progress& progress) {
  for (; progress.number < end; progress.number += kWorkers) {
    const Mutant made = mutant(corpus, progress.number);
    if (show) std::cout << made.text << std::endl;
    try {
      progress.accepted += accepts(made, progress.number % kPageEvery == 0) ? 1 : 0;
    } catch (const std::exception& error) {
      std::cerr << fmt::format("mutant {}: {}\n", progress.number, error.what());
      return 1;
    }
  }
  return 0;
}

// Forks a child, so that a crash can be reported with the number of its mutant.
pid_t start(const std::vector<Seed>& corpus, std::uint64_t end, bool show, Progress& progress) {
  const pid_t child = fork();
  if (child < 0) throw Error("fork failed");
  if (child == 0) std::_Exit(feed(corpus, end, show, progress));
  return child;
}

int fuzz(const std::string& folder, std::uint64_t first, std::uint64_t count) {
  const std::vector<Seed> corpus = load_corpus(folder);
  for (const Seed& seed : corpus) use(seed.journal, seed.journal, true);
  void* shared = mmap(nullptr, kWorkers * sizeof(Progress), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw Error("no shared memory");
  auto* progress = static_cast<Progress*>(shared);
  std::vector<pid_t> workers;
  for (std::uint64_t i = 0; i < kWorkers; ++i) {
    progress[i] = {first + i, 0};
    workers.push_back(start(corpus, first + count, count == 1, progress[i]));
  }
  std::uint64_t accepted = 0;
  bool ended = true;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    int status = 0;
    waitpid(workers[i], &status, 0);
    accepted += progress[i].accepted;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ended = false;
    std::cerr << fmt::format("ended at mutant {0}; to see it: journal_fuzz {1} {0} 1\n",
                             progress[i].number, folder);
  }
  if (!ended) return 1;
  std::cout << fmt::format("{} mutants: {} accepted and used, {} refused\n", count, accepted,
                           count - accepted);
  // The test needs accepted and refused mutants in sufficient numbers.
  const bool telling = count < 1000 || (accepted > count / 10 && accepted < count - count / 10);
  if (!telling) std::cerr << "expected a tenth to nine tenths to be accepted\n";
  return telling ? 0 : 1;
}

}  // namespace
}  // namespace duet

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: journal_fuzz CORPUS FIRST COUNT\n";
    return 2;
  }
  try {
    return duet::fuzz(argv[1], std::strtoull(argv[2], nullptr, 10),
                      std::strtoull(argv[3], nullptr, 10));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
