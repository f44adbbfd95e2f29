#include "results/compare.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "results/compare_fixture.h"
#include "results/writers/comparison.h"

namespace duet {
namespace {

// The comparison of one case.
class One {
 public:
  One(const Record& base, const Record& now)
      : base_(journal("base.jsonl", {base})), now_(journal("new.jsonl", {now})) {}
  ComparedCase operator*() const {
    const auto cases = compare(base_, now_, false);
    EXPECT_EQ(cases.size(), 1u);
    return cases.front();
  }

 private:
  JournalContents base_, now_;
};

TEST(Compare, IntervalsDecide) {
  const Record base = measured(kCase, 1.0, 0.97, 1.03);
  EXPECT_EQ((*One(base, measured(kCase, 1.04, 1.01, 1.07))).change, Change::unchanged);
  const ComparedCase worse = *One(base, measured(kCase, 1.25, 1.2, 1.3));
  EXPECT_EQ(worse.change, Change::worse);
  EXPECT_DOUBLE_EQ(worse.percent.value(), -20);
  EXPECT_FALSE(worse.one_sample);
  const ComparedCase better = *One(base, measured(kCase, 0.5, 0.4, 0.6));
  EXPECT_EQ(better.change, Change::better);
  EXPECT_DOUBLE_EQ(better.percent.value(), 100);
}

TEST(Compare, NoiseThatHidesAnyChangeIsAVerdict) {
  const Record base = measured(kCase, 1.0, 0.05, 20);
  const ComparedCase hidden = *One(base, measured(kCase, 0.05, 0.01, 1));
  EXPECT_EQ(hidden.change, Change::too_noisy);
  EXPECT_EQ(verdict_text(hidden), "too noisy to tell");
  EXPECT_GT(hidden.noise.value(), 90);
  EXPECT_EQ((*One(base, base)).change, Change::too_noisy);
}

TEST(Compare, FractionsAreComparedAsDifferences) {
  const ComparedCase worse = *One(fraction(1.2, 0.8), fraction(1.5, 0.5));
  EXPECT_EQ(worse.change, Change::worse);
  EXPECT_NEAR(worse.difference.value(), -0.3, 1e-9);
  EXPECT_FALSE(worse.percent || worse.noise);
  EXPECT_EQ(change_text(worse), "-0.30");
  EXPECT_EQ(regressions({worse}, 20).size(), 1u);
  EXPECT_TRUE(regressions({worse}, 40).empty());
  EXPECT_EQ((*One(fraction(1.2, 0.8), fraction(1.21, 0.79))).change, Change::unchanged);
  // The same time, but another fraction: the sides alone changed.
  EXPECT_EQ((*One(fraction(1.2, 0.8), fraction(1.2, 0.5))).change, Change::worse);
  const ComparedCase better = *One(fraction(8, -5.98), fraction(2.2, -0.2));
  EXPECT_EQ(change_text(better), "+5.78");
}

TEST(Compare, RunsThatAreSureOfThemselvesDifferAllTheSame) {
  const Record base = measured(kCase, 1.0, 1.0, 1.0);
  const ComparedCase unchanged = *One(base, measured(kCase, 1.02, 1.02, 1.02));
  EXPECT_EQ(unchanged.change, Change::unchanged);
  EXPECT_NEAR(unchanged.noise.value(), 2.7, 0.1);  // of a GPU
  EXPECT_EQ((*One(base, measured(kCase, 1.05, 1.05, 1.05))).change, Change::worse);
  EXPECT_EQ((*One(base, measured(kCase, 0.95, 0.95, 0.95))).change, Change::better);
}

// A journal of 20 cases; each takes 0.1 s times `factor` of the case's number.
template <typename Factor>
JournalContents many(const std::string& name, Factor factor) {
  std::vector<Record> records;
  for (int i = 0; i < 20; ++i) {
    const double median = 0.1 * factor(i);
    records.push_back(measured(copy_case(i + 1), median, median, median));
  }
  return journal(name, records);
}

double luck(std::uint64_t run, int one) {
  return std::exp(0.02 * static_cast<double>(random_normal(run, static_cast<std::uint64_t>(one))));
}

TEST(Compare, RepeatsFindAPlantedRegressionAndNothingElse) {
  std::vector<JournalContents> base, now;
  for (std::uint64_t run = 0; run < 4; ++run) {
    base.push_back(many("base", [&](int i) { return luck(run, i); }));
    now.push_back(many("new", [&](int i) { return (i == 7 ? 1.15 : 1) * luck(run + 100, i); }));
  }
  const auto side = [](const std::vector<JournalContents>& journals) {
    JournalSide all;
    for (const JournalContents& one : journals) all.push_back(&one);
    return all;
  };
  const auto cases = compare(side(base), side(now), false);
  EXPECT_EQ(cases[7].base_runs, 4);
  const auto found = regressions(cases, 5);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]->id.axes, copy_case(8).axes);
  EXPECT_TRUE(regressions(compare(side(base), side(base), false), 0).empty());
}

TEST(Compare, OneRunASideFindsAPlantedRegressionOnAGpu) {
  const auto quiet = [](int) { return 1.0; };
  const auto cases =
      compare(many("base", quiet), many("new", [](int i) { return i == 3 ? 1.15 : 1; }), false);
  ASSERT_EQ(regressions(cases, 5).size(), 1u);
  EXPECT_EQ(regressions(cases, 5)[0]->id.axes, copy_case(4).axes);
}

TEST(Compare, TheRunInTheMiddleStandsForItsSide) {
  std::vector<JournalContents> base, now;
  for (const double median : {1.0, 3.0, 2.0}) {
    base.push_back(journal("base", {measured(kCase, median, median, median)}));
  }
  now.push_back(journal("new", {measured(kCase, 5, 5, 5)}));
  now.push_back(journal("new", {make_record(kCase, Failure{false, "out of time"})}));
  const auto one =
      compare(JournalSide{&base[0], &base[1], &base[2]}, JournalSide{&now[0]}, false).front();
  EXPECT_EQ(one.base->seconds.median, 2.0);
  EXPECT_EQ(one.base_runs, 3);
  EXPECT_EQ(one.now_runs, 1);
  const auto broke = compare(JournalSide{&base[0]}, JournalSide{&now[0], &now[1]}, false).front();
  EXPECT_TRUE(broke.broke) << "one of its runs failed";
}

TEST(Compare, LoadOfTheCpuIsNoRegressionOfIt) {
  const CaseId id = copy_case(4096, "host");
  const Environment where = environment("host", "CPU");
  const Record base = measured(id, 1, 1, 1);
  Record busy = measured(id, 1.8, 1.8, 1.8);
  const auto change = [&](const Record& now) {
    return compare(journal("base", {base}, where), journal("new", {now}, where), false)
        .front()
        .change;
  };
  EXPECT_EQ(change(busy), Change::worse);
  busy.load = HostLoad{std::nullopt, 0.5, 0.0};
  EXPECT_EQ(change(busy), Change::too_noisy);
}

TEST(Compare, DevicesAreOfTheirMachinesKind) {
  const Environment where = environment("host", "CPU");
  const std::string name = where.machines[0].devices[0].name;
  const CaseId id = copy_case(4096, name);
  const Record base = measured(id, 1, 1, 1);
  Record busy = measured(id, 1.8, 1.8, 1.8);
  busy.load = HostLoad{std::nullopt, 0.5, 0.0};
  const auto cases = compare(journal("base", {base}, where), journal("new", {busy}, where), false);
  EXPECT_EQ(cases.front().change, Change::too_noisy);
}

TEST(Compare, OneSampleIsAPoint) {
  const ComparedCase worse = *One(one_sample(kCase, 1.0), one_sample(kCase, 1.1));
  EXPECT_EQ(worse.change, Change::worse);
  EXPECT_TRUE(worse.one_sample);
  EXPECT_EQ(verdict_text(worse), "worse (one sample)");
  EXPECT_EQ((*One(one_sample(kCase, 1.0), one_sample(kCase, 1.0))).change, Change::unchanged);
  EXPECT_EQ((*One(measured(kCase, 1.0, 0.9, 1.1), one_sample(kCase, 1.05))).change,
            Change::too_noisy);
}

TEST(Compare, AnIntervalBesideItsMedianDoesNotTurnTheVerdict) {
  // Slower by the median, faster by the interval alone.
  const ComparedCase odd = *One(measured(kCase, 1.0, 0.9, 1.1), measured(kCase, 2.0, 0.1, 0.2));
  EXPECT_EQ(odd.change, Change::too_noisy);
}

TEST(Compare, WhatBrokeIsWorse) {
  const Record fine = measured(kCase, 1, 1, 1);
  const Record wrong = make_record(kCase, Failure{true, "byte 7 differs\nmore"});
  const Record failed = make_record(kCase, Failure{false, "out of time"});
  const ComparedCase broke = *One(fine, wrong);
  EXPECT_EQ(broke.change, Change::worse);
  EXPECT_TRUE(broke.broke);
  EXPECT_FALSE(broke.percent);
  EXPECT_EQ(verdict_text(broke), "worse: wrong: byte 7 differs");
  EXPECT_TRUE((*One(skipped(kCase), failed)).broke);
  EXPECT_FALSE((*One(failed, wrong)).broke);
  EXPECT_EQ(verdict_text(*One(failed, fine)), "not comparable: failed, now measured");
  EXPECT_EQ(verdict_text(*One(wrong, wrong)), "not comparable: wrong in both");
  EXPECT_EQ(verdict_text(*One(fine, skipped(kCase))), "not comparable: measured, now skipped");
  EXPECT_EQ((*One(skipped(kCase), skipped(kCase))).change, Change::skipped);
}

TEST(Compare, OtherModesWorkOrNoTimeAreNotComparable) {
  const Record base = measured(kCase, 1, 1, 1);
  Record other = base;
  other.mode = "loop";
  EXPECT_EQ(verdict_text(*One(base, other)), "not comparable: mode adaptive, now loop");
  other = base;
  other.flushed = true;
  EXPECT_EQ(verdict_text(*One(base, other)), "not comparable: cache flushed now");
  EXPECT_EQ(verdict_text(*One(other, base)), "not comparable: cache no longer flushed");
  other = base;
  other.cost.wire_bytes = 2e9;
  EXPECT_EQ(verdict_text(*One(base, other)), "not comparable: not the same work");
  other = measured(kCase, 0, 0, 0);
  EXPECT_EQ(verdict_text(*One(base, other)), "not comparable: a median of 0");
  EXPECT_EQ(verdict_text(*One(other, base)), "not comparable: a median of 0");
  EXPECT_EQ(verdict_text(*One(other, other)), "not comparable: a median of 0");
}

TEST(Compare, TheLastRecordOfACaseCounts) {
  JournalContents base =
      journal("base", {make_record(kCase, Failure{false, "once"}), measured(kCase, 1, 1, 1)});
  base.runs.push_back({environment("cuda", "NVIDIA H200"), {measured(kCase, 2, 2, 2)}});
  const JournalContents now = journal("new", {measured(kCase, 2, 2, 2)});
  const auto cases = compare(base, now, false);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].change, Change::unchanged);
}

TEST(Compare, MissingAndNewCasesAreSaidAndDerivedOnesLeftOut) {
  Measurement curve;
  curve.id = {"copy_curve", "cuda", "duet", {}};
  curve.rates = {{"latency_us", 1}};
  const JournalContents base = journal(
      "base", {measured(copy_case(3), 1, 1, 1), measured(kCase, 1, 1, 1), make_record(curve)});
  const JournalContents now =
      journal("new", {measured(kCase, 1, 1, 1), measured(copy_case(1), 1, 1, 1)});
  const auto cases = compare(base, now, false);
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0].change, Change::missing);
  EXPECT_EQ(cases[0].now, nullptr);
  EXPECT_EQ(cases[2].change, Change::added);
  EXPECT_EQ(cases[2].base, nullptr);
  EXPECT_EQ(complaint(base, journal("new", {measured(copy_case(1), 1, 1, 1)}), false),
            "base and new have no case in common: expected journals of the same benchmarks");
}

TEST(Compare, RegressionsAreAboveTheToleranceOrBroken) {
  const JournalContents base =
      journal("base", {measured(copy_case(1), 1, 1, 1), measured(copy_case(2), 1, 1, 1),
                       measured(copy_case(3), 1, 1, 1), measured(copy_case(4), 1, 0.5, 2)});
  const JournalContents now = journal(
      "new", {measured(copy_case(1), 1.25, 1.25, 1.25), measured(copy_case(2), 1.01, 1, 2),
              make_record(copy_case(3), Failure{true, "x"}), measured(copy_case(4), 1.5, 1.2, 3)});
  const auto cases = compare(base, now, false);
  ASSERT_EQ(regressions(cases, 5).size(), 2u);
  EXPECT_EQ(regressions(cases, 5)[0]->id.axes, copy_case(1).axes);
  EXPECT_TRUE(regressions(cases, 5)[1]->broke);
  EXPECT_EQ(regressions(cases, 20).size(), 1u) << "not above 20%";
  EXPECT_EQ(regressions(cases, 0).size(), 2u) << "what is within the noise is no regression";
}

}  // namespace
}  // namespace duet
