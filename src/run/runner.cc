#include "run/runner.h"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>

#include "core/error.h"
#include "core/profiler_range.h"
#include "core/thread.h"
#include "core/units.h"
#include "results/host_load.h"
#include "results/journal.h"
#include "results/writers/axis_columns.h"
#include "run/lockstep.h"

namespace duet {
namespace {

// True if the command left the case unverified, not if the case cannot be verified.
bool left_unverified(const Record& record) {
  if (record.outcome != Outcome::measured || record.verified) return false;
  return std::find(record.warnings.begin(), record.warnings.end(),
                   std::string("not verified: ") + kNotToBeVerified) != record.warnings.end();
}

class Runner {
 public:
  Runner(const std::vector<Writer*>& writers, const RunnerOptions& options)
      : writers_(writers), options_(options), lockstep_(options.processes) {}

  Tally run(const std::vector<Job>& jobs) {
    for (const Job& job : jobs) tally_.cases += static_cast<int>(job.benchmark.cases.size());
    if (options_.progress != nullptr) options_.progress->plan(left(jobs));
    for (const Job& job : jobs) {
      if (!tally_.interrupted) run(job);
    }
    return tally_;
  }

 private:
  void run(const Job& job);
  void run_cases(const Job& job);
  std::optional<Record> record_of(const Case& one);
  Record run_case(const Case& one);
  void add_load(Record& record, const LoadMeter& meter);
  Record repeated(const Case& one, const Record& first);
  std::optional<Record> measure_new(const Case& one);
  void require_all(const Record& record);
  bool doubtful(const Record& record);
  void count(const Record& record);

  // The record of an earlier run; nullptr if there is none, or the case has to be repeated.
  const Record* earlier(const Case& one) const {
    const auto found = options_.earlier.find(case_key(one.id));
    if (found == options_.earlier.end()) return nullptr;
    const Record& record = *found->second;
    if (record.outcome == Outcome::wrong || record.outcome == Outcome::failed) return nullptr;
    const bool repeated = record.notes.contains(kFirstMedian);
    if (!repeated && options_.doubtful && options_.doubtful(record)) return nullptr;
    const bool same_way =
        record.outcome != Outcome::measured || !one.mode ||
        (record.mode == name(one.mode->kind) && record.flushed == one.mode->flush);
    return same_way && !(one.verified && left_unverified(record)) ? &record : nullptr;
  }

  int left(const std::vector<Job>& jobs) const {
    int count = 0;
    for (const Job& job : jobs) {
      for (const Case& one : job.benchmark.cases) count += earlier(one) == nullptr ? 1 : 0;
    }
    return count;
  }

  void write(const Record& record, bool resumed) {
    for (Writer* writer : writers_) writer->result(record, resumed);
  }

  const std::vector<Writer*>& writers_;
  const RunnerOptions& options_;
  Lockstep lockstep_;
  Tally tally_;
  LoadMeter earlier_;  // of the last case that has a load
};

void Runner::count(const Record& record) {
  const Outcome outcome = record.outcome;
  if (outcome == Outcome::skipped) ++tally_.skipped_for[record.reason];
  if (outcome == Outcome::wrong || outcome == Outcome::failed) ++tally_.failed_for[record.reason];
  tally_.measured += outcome == Outcome::measured ? 1 : 0;
  tally_.skipped += outcome == Outcome::skipped ? 1 : 0;
  tally_.wrong += outcome == Outcome::wrong ? 1 : 0;
  tally_.failed += outcome == Outcome::failed ? 1 : 0;
}

// Turns errors into records; throws Interrupted alone.
Record Runner::run_case(const Case& one) {
  const auto skip = [&](const Error& error) {
    return make_record(skipped_measurement(one.id, error.what()));
  };
  try {
    const LoadMeter meter;
    const ProfilerRange range([&one] { return line_of(one.id); });
    Record record = make_record(one.run());
    if (options_.load) add_load(record, meter);
    return record;
  } catch (const Interrupted&) {
    throw;
  } catch (const Unavailable& error) {
    return skip(error);
  } catch (const OutOfMemory& error) {
    return skip(error);
  } catch (const Mismatch& error) {
    return make_record(one.id, Failure{true, error.what()});
  } catch (const std::bad_alloc&) {
    return make_record(one.id, Failure{false, "out of host memory (" + limits_text() + ")"});
  } catch (const std::exception& error) {
    return make_record(one.id, Failure{false, error.what()});
  }
}

// A case that is too short for the clock's ticks gets the load since an earlier one began.
void Runner::add_load(Record& record, const LoadMeter& meter) {
  auto share = meter.share();
  if (!share) share = earlier_.share();
  if (!share) return;
  record.load = host_load(*share);
  earlier_ = meter;
}

// The second record of a doubtful case, or the first one if the run was interrupted meanwhile.
Record Runner::repeated(const Case& one, const Record& first) {
  try {
    Record record = run_case(one);
    record.notes.set(kFirstMedian, format_seconds(first.seconds.median));
    return record;
  } catch (const Interrupted&) {
    tally_.interrupted = true;
    return first;
  }
}

// Measures a case. nullopt if the run was interrupted before there was a record.
std::optional<Record> Runner::measure_new(const Case& one) {
  if (options_.progress != nullptr) options_.progress->start(one.id);
  std::optional<Record> record;
  try {
    record = run_case(one);
    require_all(*record);
    if (doubtful(*record)) record = repeated(one, *record);
    require_all(*record);
  } catch (const Interrupted&) {
    tally_.interrupted = true;
  }
  if (options_.progress != nullptr) options_.progress->done();
  return record;
}

void Runner::require_all(const Record& record) {
  lockstep_.require_all(record.outcome == Outcome::failed ? record.reason : "");
}

bool Runner::doubtful(const Record& record) {
  return options_.doubtful &&
         lockstep_.decided(options_.doubtful(record), "process 0 to judge a figure");
}

// The case's key without the device's number, which may differ between processes.
std::string shared_key(CaseId id) {
  id.device = id.device.substr(0, id.device.find(':'));
  return case_key(id);
}

// The record of a case, from the earlier journal or measured now. nullopt if the run stops. In
// processes other than 0 also nullopt if process 0 has a record already.
std::optional<Record> Runner::record_of(const Case& one) {
  const Record* before = earlier(one);
  const bool stop = tally_.interrupted || (options_.stop && options_.stop());
  const Lockstep::Step step = lockstep_.next(shared_key(one.id), {stop, before != nullptr});
  tally_.interrupted = step.stop;
  if (step.stop) return std::nullopt;
  std::optional<Record> record;
  if (before != nullptr) {
    record = *before;
  } else if (!step.done) {
    record = measure_new(one);
  }
  if (!record) return std::nullopt;
  tally_.resumed += before != nullptr ? 1 : 0;
  count(*record);
  write(*record, before != nullptr);
  return record;
}

void Runner::run_cases(const Job& job) {
  std::vector<Finished> finished;
  for (const Case& one : job.benchmark.cases) {
    const std::optional<Record> record = record_of(one);
    if (tally_.interrupted) break;
    if (!record) continue;
    if (record->outcome == Outcome::measured || record->outcome == Outcome::skipped) {
      finished.push_back(finished_of(*record));
    }
  }
  if (tally_.interrupted || !job.benchmark.conclude) return;
  for (const Measurement& measurement : job.benchmark.conclude(finished)) {
    const Record record = make_record(measurement);
    const Record* before = earlier({measurement.id, {}, {}});
    write(record, before != nullptr && journal_line(*before) == journal_line(record));
  }
}

void Runner::run(const Job& job) {
  for (Writer* writer : writers_) writer->begin(job.section);
  try {
    run_cases(job);
  } catch (const PeerFailed& error) {
    tally_.interrupted = true;
    tally_.lost = error.what();
  }
  for (Writer* writer : writers_) writer->end();
}

}  // namespace

Tally run_jobs(const std::vector<Job>& jobs, const std::vector<Writer*>& writers,
               const RunnerOptions& options) {
  return Runner(writers, options).run(jobs);
}

}  // namespace duet
