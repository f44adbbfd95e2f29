#include "run/runner.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

CaseId case_id(int number) { return {"fake", "host", "none", {{"n", std::int64_t{number}}}}; }

Measurement one_second(const CaseId& id) {
  Measurement measurement;
  measurement.id = id;
  measurement.sampling.emplace();
  measurement.sampling->samples = {1.0};
  measurement.cost.flop = 1e12;
  return measurement;
}

class Log : public Writer {
 public:
  void begin(const Section& section) override { text += "begin " + section.benchmark + "\n"; }
  void result(const Record& record, bool resumed) override {
    records.push_back(record);
    text += std::string(name(record.outcome)) + (resumed ? " resumed" : "") + "\n";
  }
  void end() override { text += "end\n"; }

  std::string text;
  std::vector<Record> records;
};

class RunnerTest : public ::testing::Test {
 protected:
  // Cases numbered from 0, which run these functions.
  std::vector<Job> job(std::vector<std::function<Measurement(const CaseId&)>> bodies) {
    Job one;
    one.section.benchmark = "fake";
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const CaseId id = case_id(static_cast<int>(i));
      one.benchmark.cases.push_back({id,
                                     [this, id, body = bodies[i]] {
                                       ++ran;
                                       return body(id);
                                     },
                                     {}});
    }
    return {one};
  }

  Tally run(const std::vector<Job>& jobs, const RunnerOptions& options = {}) {
    return run_jobs(jobs, {&log}, options);
  }

  Log log;
  int ran = 0;
};

TEST_F(RunnerTest, EveryEndBecomesARecordAndTheRunGoesOn) {
  const Tally tally = run(job({
      one_second,
      [](const CaseId&) -> Measurement { throw Mismatch("byte 7"); },
      [](const CaseId&) -> Measurement { throw std::runtime_error("launch failed"); },
      [](const CaseId&) -> Measurement { throw OutOfMemory("2 GiB do not fit"); },
      [](const CaseId&) -> Measurement { throw std::bad_alloc(); },
      [](const CaseId&) -> Measurement { throw Unavailable("no peer access"); },
      one_second,
  }));
  EXPECT_EQ(log.text,
            "begin fake\nmeasured\nwrong\nfailed\nskipped\nfailed\nskipped\nmeasured\nend\n");
  EXPECT_EQ(log.records[1].reason, "byte 7");
  EXPECT_EQ(log.records[3].reason, "2 GiB do not fit");
  EXPECT_EQ(log.records[4].reason.find("out of host memory ("), 0u);
  EXPECT_EQ(tally.cases, 7);
  EXPECT_EQ(tally.measured, 2);
  EXPECT_EQ(tally.skipped, 2);
  EXPECT_EQ(tally.wrong, 1);
  EXPECT_EQ(tally.failed, 2);
  EXPECT_FALSE(tally.interrupted);
}

TEST_F(RunnerTest, WhatIsFinishedIsNotRepeatedAndWhatFailedIs) {
  Measurement skipped;
  skipped.id = case_id(1);
  skipped.skipped = Skipped{"never"};
  const std::vector<Record> before = {make_record(one_second(case_id(0))), make_record(skipped),
                                      make_record(case_id(2), Failure{false, "once"}),
                                      make_record(case_id(3), Failure{true, "once"})};
  RunnerOptions options;
  for (const Record& record : before) options.earlier[case_key(record.id)] = &record;
  const Tally tally =
      run(job({one_second, one_second, one_second, one_second, one_second}), options);
  EXPECT_EQ(ran, 3);
  EXPECT_EQ(log.text,
            "begin fake\nmeasured resumed\nskipped resumed\nmeasured\nmeasured\nmeasured\nend\n");
  EXPECT_EQ(tally.resumed, 2);
  EXPECT_EQ(tally.measured, 4);
}

TEST_F(RunnerTest, WhatWasNotToBeVerifiedIsRepeatedWhereItIs) {
  Measurement unchecked = one_second(case_id(0));
  unchecked.sampling->verified = false;
  unchecked.sampling->warnings = {std::string("not verified: ") + kNotToBeVerified};
  const Record before = make_record(unchecked);
  RunnerOptions options;
  options.earlier[case_key(case_id(0))] = &before;
  auto jobs = job({one_second});
  jobs[0].benchmark.cases[0].verified = false;
  run(jobs, options);
  EXPECT_EQ(ran, 0);
  jobs[0].benchmark.cases[0].verified = true;
  run(jobs, options);
  EXPECT_EQ(ran, 1);
}

TEST_F(RunnerTest, ConclusionsSeeResumedAndNewCases) {
  const Record before = make_record(one_second(case_id(0)));
  RunnerOptions options;
  options.earlier[case_key(case_id(0))] = &before;
  auto jobs = job({one_second, one_second});
  std::size_t seen = 0;
  jobs[0].benchmark.conclude = [&](const std::vector<Finished>& finished) {
    seen = finished.size();
    Measurement fit;
    fit.id = {"fake_fit", "host", "none", {}};
    fit.rates = {{"latency_us", 1}};
    return std::vector<Measurement>{fit};
  };
  run(jobs, options);
  EXPECT_EQ(seen, 2u);
  EXPECT_EQ(log.text, "begin fake\nmeasured resumed\nmeasured\nderived\nend\n");
  // A second resume also takes the concluded result from the journal.
  const std::vector<Record> all = log.records;
  for (const Record& record : all) options.earlier[case_key(record.id)] = &record;
  log = Log();
  run(jobs, options);
  EXPECT_EQ(log.text, "begin fake\nmeasured resumed\nmeasured resumed\nderived resumed\nend\n");
}

TEST_F(RunnerTest, StoppedBetweenCases) {
  RunnerOptions options;
  options.stop = [this] { return ran == 1; };
  const Tally tally = run(job({one_second, one_second}), options);
  EXPECT_TRUE(tally.interrupted);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(log.text, "begin fake\nmeasured\nend\n");
}

TEST_F(RunnerTest, StoppedInsideACaseLeavesNoRecordOfIt) {
  auto jobs = job({one_second, [](const CaseId&) -> Measurement { throw Interrupted(); }});
  bool concluded = false;
  jobs[0].benchmark.conclude = [&](const std::vector<Finished>&) {
    concluded = true;
    return std::vector<Measurement>{};
  };
  jobs.push_back(jobs[0]);
  const Tally tally = run(jobs);
  EXPECT_TRUE(tally.interrupted);
  EXPECT_FALSE(concluded);
  EXPECT_EQ(log.text, "begin fake\nmeasured\nend\n");
}

TEST_F(RunnerTest, ADoubtfulFigureIsMeasuredOnceMoreAndTheSecondCounts) {
  double seconds = 1;
  const auto faster_each_time = [&](const CaseId& id) {
    Measurement measurement = one_second(id);
    measurement.sampling->samples = {seconds};
    seconds /= 2;
    return measurement;
  };
  RunnerOptions options;
  options.doubtful = [](const Record& record) { return record.seconds.median > 0.1; };
  const Tally tally = run(job({faster_each_time}), options);
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(tally.measured, 1);
  ASSERT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.records[0].seconds.median, 0.5);
  EXPECT_EQ(log.records[0].notes.value(kFirstMedian), "1.000 s");
}

TEST_F(RunnerTest, AnInterruptedRepeatKeepsTheFirstFigure) {
  RunnerOptions options;
  options.doubtful = [](const Record&) { return true; };
  const Tally tally = run(job({[&](const CaseId& id) -> Measurement {
                                 if (ran > 1) throw Interrupted();
                                 return one_second(id);
                               },
                               one_second}),
                          options);
  EXPECT_TRUE(tally.interrupted);
  EXPECT_EQ(tally.measured, 1);
  EXPECT_EQ(log.text, "begin fake\nmeasured\nend\n");
}

TEST_F(RunnerTest, AResumedDoubtIsMeasuredAgainButOnlyOnce) {
  RunnerOptions options;
  options.doubtful = [](const Record& record) { return record.outcome == Outcome::measured; };
  Record before = make_record(one_second(case_id(0)));
  options.earlier[case_key(case_id(0))] = &before;
  run(job({one_second}), options);
  EXPECT_EQ(ran, 2);  // the record of the earlier run is doubtful, so the case runs twice
  before = log.records.back();
  run(job({one_second}), options);
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace duet
