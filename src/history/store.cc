#include "history/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/output_file.h"
#include "core/units.h"
#include "results/writers/axis_columns.h"

namespace duet {
namespace {

// PRAGMA application_id and user_version of a store.
constexpr std::int64_t kApplication = 0x44756574;  // "Duet"
constexpr std::int64_t kVersion = 1;

// One run of a journal: its environment and the last result of each case.
struct StoredRun {
  const JournalRun* run = nullptr;
  std::map<std::string, const Record*> results;  // by case_key()
};

std::vector<StoredRun> runs_of(const JournalContents& journal) {
  std::vector<StoredRun> runs;
  for (const JournalRun& run : journal.runs) {
    if (run.line.empty()) continue;  // nothing is known of it
    StoredRun& stored = runs.emplace_back();
    stored.run = &run;
    for (const Record& record : run.results) stored.results[case_key(record.id)] = &record;
  }
  return runs;
}

// Empty where the environment has none.
RunFacts facts_of(const StoredRun& stored) {
  return stored.run->environment.run.value_or(RunFacts{});
}

// Models by the names that records have: those of devices and of machines.
std::map<std::string, std::string> models_of(const Environment& environment) {
  std::map<std::string, std::string> models;
  for (const MachineFacts& machine : environment.machines) {
    for (const DeviceInfo& device : machine.devices) {
      models.emplace(machine.name, device.model);
      models.emplace(device.name, device.model);
    }
  }
  return models;
}

std::string text(const SqlValue& value) {
  const auto* words = std::get_if<std::string>(&value);
  return words != nullptr ? *words : "";
}

double number(const SqlValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? *real : 0;
}

std::int64_t whole_of(Database& database, const std::string& sql) {
  return static_cast<std::int64_t>(number(database.run(sql).at(0).at(0)));
}

void make_tables(Database& database) {
  database.run(
      "CREATE TABLE run (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, time_utc TEXT NOT NULL, "
      "host TEXT NOT NULL, revision TEXT NOT NULL, journal TEXT NOT NULL)");
  database.run(
      "CREATE TABLE figure (run INTEGER NOT NULL REFERENCES run(id), case_key TEXT NOT NULL, "
      "benchmark TEXT NOT NULL, device TEXT NOT NULL, model TEXT NOT NULL, engine TEXT NOT NULL, "
      "case_text TEXT NOT NULL, rate TEXT NOT NULL, value REAL NOT NULL, main INTEGER NOT NULL)");
  database.run("CREATE INDEX figure_by_run ON figure (run)");
  database.run("CREATE INDEX figure_by_case ON figure (case_key, rate)");
  database.run(fmt::format("PRAGMA application_id = {}", kApplication));
  database.run(fmt::format("PRAGMA user_version = {}", kVersion));
}

void add_figures(Database& database, std::int64_t id, const StoredRun& run) {
  const auto models = models_of(run.run->environment);
  for (const auto& [key, record] : run.results) {
    const CaseId& one = record->id;
    const auto model = models.find(one.device);
    std::int64_t main = 1;
    for (const auto& [rate, value] : record->rates) {
      database.run("INSERT INTO figure VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                   {id, key, one.benchmark, one.device,
                    model != models.end() ? model->second : std::string(), one.engine,
                    case_text(one), rate, value, main});
      main = 0;
    }
  }
}

// The figures of a run, by case and rate.
using RunFigures = std::map<std::pair<std::string, std::string>, double>;

RunFigures figures_of(const StoredRun& run) {
  RunFigures figures;
  for (const auto& [key, record] : run.results) {
    for (const auto& [rate, value] : record->rates) figures[{key, rate}] = value;
  }
  return figures;
}

RunFigures figures_of(Database& database, std::int64_t id) {
  RunFigures figures;
  for (const auto& row :
       database.run("SELECT case_key, rate, value FROM figure WHERE run = ?1", {id})) {
    figures[{text(row[0]), text(row[1])}] = number(row[2]);
  }
  return figures;
}

bool has_all(const RunFigures& figures, const RunFigures& some) {
  return std::includes(figures.begin(), figures.end(), some.begin(), some.end());
}

bool have_common_case(const RunFigures& a, const RunFigures& b) {
  std::set<std::string> cases;
  for (const auto& [name, value] : a) cases.insert(name.first);
  return std::any_of(b.begin(), b.end(),
                     [&](const auto& each) { return cases.count(each.first.first) > 0; });
}

// What the store has of a run that is to be added.
struct KnownRun {
  std::vector<std::int64_t> replaced;  // ids: several where its parts were added before
  bool kept = false;
};

// `begin`: of the keys of all runs with its time and environment. `timed`: it has a time of its
// own, by which it is the same run even where its figures have changed.
KnownRun known_run(Database& database, const std::string& begin, const RunFigures& figures,
                   bool timed, const std::string& journal) {
  KnownRun known;
  for (const auto& row : database.run(
           "SELECT id FROM run WHERE substr(key, 1, length(?1)) = ?1 ORDER BY id", {begin})) {
    const auto id = static_cast<std::int64_t>(number(row[0]));
    const RunFigures stored = figures_of(database, id);
    if (has_all(figures, stored)) {
      known.replaced.push_back(id);
    } else if (has_all(stored, figures)) {
      known.kept = true;
    } else if (have_common_case(stored, figures)) {
      if (!timed) {
        throw UsageError(fmt::format(
            "{}: the store has other figures of the same cases for --time: expected the time of "
            "this run",
            journal));
      }
      known.replaced.push_back(id);
    }
  }
  return known;
}

// `key`, or where a run of the store has it, the first of "KEY 2", "KEY 3", ... that none has.
std::string free_key(Database& database, const std::string& key) {
  std::string free = key;
  for (int i = 2; !database.run("SELECT 1 FROM run WHERE key = ?1", {free}).empty(); ++i) {
    free = fmt::format("{} {}", key, i);
  }
  return free;
}

// Digits at some places of a time.
int digits(const std::string& text, std::size_t begin, std::size_t count) {
  return std::stoi(text.substr(begin, count));
}

int days_in(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

std::string line_of(const HistoryPoint& point) {
  return fmt::format("{} on {}, {}, {}", point.benchmark, point.device, point.engine,
                     point.case_text);
}

bool is_of(const HistoryPoint& point, const std::string& device) {
  const auto has = [&](const std::string& where) {
    return where.find(device) != std::string::npos;
  };
  return has(point.device) || has(point.model) || has(point.host);
}

}  // namespace

bool is_time_utc(const std::string& text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return false;
  }
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  return month >= 1 && month <= 12 && day >= 1 && day <= days_in(year, month) &&
         digits(text, 11, 2) < 24 && digits(text, 14, 2) < 60 && digits(text, 17, 2) <= 60;
}

void require_times(const JournalContents& journal, const std::string& time_utc) {
  for (const StoredRun& run : runs_of(journal)) {
    const std::string own = facts_of(run).time_utc;
    const std::string& time = own.empty() ? time_utc : own;
    if (is_time_utc(time)) continue;
    const std::string fault = time.empty()
                                  ? "does not say when it was measured"
                                  : fmt::format("was measured at {}, which is no time", time);
    throw UsageError(fmt::format("{} {}: expected {}, such as 2026-11-21T02:00:00Z", journal.name,
                                 fault, own.empty() ? "--time" : "a time"));
  }
}

namespace {

std::string file_of_store(const std::string& path) {
  if (!OutputFile::is_special(path) && path != ":memory:") return path;
  throw UsageError(fmt::format("store {}: expected the name of a file", path));
}

}  // namespace

Store::Store(const std::string& path) : database_(file_of_store(path)) {
  Transaction transaction(database_);
  if (whole_of(database_, "SELECT count(*) FROM sqlite_master") == 0) make_tables(database_);
  if (whole_of(database_, "PRAGMA application_id") != kApplication) {
    throw UsageError(fmt::format("store {}: expected a file of duet history", path));
  }
  if (whole_of(database_, "PRAGMA user_version") != kVersion) {
    throw UsageError(fmt::format("store {}: expected one of version {}", path, kVersion));
  }
  transaction.commit();
}

AddedRuns Store::add(const JournalContents& journal, const std::string& time_utc) {
  require_times(journal, time_utc);
  AddedRuns added;
  Transaction transaction(database_);
  for (const StoredRun& run : runs_of(journal)) {
    const RunFacts facts = facts_of(run);
    const bool timed = !facts.time_utc.empty();
    const std::string& time = timed ? facts.time_utc : time_utc;
    // Runs without a time are told apart by the one that was given, and by their cases.
    std::string key = time + ' ' + trim(run.run->line);
    const KnownRun known = known_run(database_, key, figures_of(run), timed, journal.name);
    if (known.kept) {
      ++added.kept;
      continue;
    }
    for (const std::int64_t id : known.replaced) {
      database_.run("DELETE FROM figure WHERE run = ?1", {id});
      database_.run("DELETE FROM run WHERE id = ?1", {id});
    }
    key = free_key(database_, key);
    ++(known.replaced.empty() ? added.added : added.replaced);
    database_.run(
        "INSERT INTO run (key, time_utc, host, revision, journal) VALUES (?1, ?2, ?3, ?4, ?5)",
        {key, time, facts.host.host_name, facts.revision, journal.name});
    add_figures(database_, whole_of(database_, "SELECT last_insert_rowid()"), run);
    added.figures += static_cast<int>(figures_of(run).size());
  }
  transaction.commit();
  return added;
}

std::vector<HistoryPoint> Store::points(const HistoryFilter& filter) {
  std::string sql =
      "SELECT time_utc, host, revision, benchmark, device, model, engine, case_text, rate, value "
      "FROM figure JOIN run ON run.id = figure.run WHERE ";
  sql += filter.rate.empty() ? "main = 1" : "rate = ?1";
  sql += " ORDER BY benchmark, model, device, host, engine, case_key, rate, time_utc, run.id";
  std::vector<SqlValue> values;
  if (!filter.rate.empty()) values.emplace_back(filter.rate);
  std::vector<HistoryPoint> points;
  for (const std::vector<SqlValue>& row : database_.run(sql, values)) {
    HistoryPoint point{text(row[0]), text(row[1]), text(row[2]), text(row[3]), text(row[4]),
                       text(row[5]), text(row[6]), text(row[7]), text(row[8]), number(row[9])};
    if (has_all(line_of(point), filter.words) && is_of(point, filter.device))
      points.push_back(point);
  }
  return points;
}

void Store::each_run(const std::function<void(JournalContents)>& take) {
  for (const auto& run :
       database_.run("SELECT id, key, time_utc, journal FROM run ORDER BY time_utc, id")) {
    const std::string time = text(run[2]);
    const std::string key = text(run[1]);
    const std::string line = key.substr(std::min(key.size(), time.size() + 1));
    // Behind the line a key may have a number.
    JournalContents contents =
        parse_journal(text(run[3]), line.substr(0, line.rfind('}') + 1) + '\n');
    if (contents.runs.empty()) continue;
    for (const auto& row : database_.run(
             "SELECT case_key, rate, value FROM figure WHERE run = ?1 AND main = 1 ORDER BY rowid",
             {run[0]})) {
      Record& record = contents.runs[0].results.emplace_back();
      record.id = case_of_key(text(row[0]));
      record.rates.set(text(row[1]), number(row[2]));
    }
    if (auto& facts = contents.runs[0].environment.run; facts && facts->time_utc.empty()) {
      facts->time_utc = time;
    }
    take(std::move(contents));
  }
}

}  // namespace duet
