// Two records of a case held against each other, and the cases of two journals.
#include "results/compare.h"

#include <gtest/gtest.h>

#include "results/compare_fixture.h"
#include "results/writers/comparison_table.h"

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
  const Record base = measured(kCase, 1.0, 0.9, 1.1);
  EXPECT_EQ((*One(base, measured(kCase, 1.15, 1.05, 1.25))).change, Change::unchanged);
  const ComparedCase worse = *One(base, measured(kCase, 1.25, 1.2, 1.3));
  EXPECT_EQ(worse.change, Change::worse);
  EXPECT_DOUBLE_EQ(worse.percent.value(), -20);
  EXPECT_FALSE(worse.one_sample);
  const ComparedCase better = *One(base, measured(kCase, 0.5, 0.4, 0.6));
  EXPECT_EQ(better.change, Change::better);
  EXPECT_DOUBLE_EQ(better.percent.value(), 100);
}

TEST(Compare, IntervalsThatTouchOverlap) {
  const Record base = measured(kCase, 1.0, 0.9, 1.1);
  EXPECT_EQ((*One(base, measured(kCase, 1.2, 1.1, 1.3))).change, Change::unchanged);
  EXPECT_EQ((*One(base, measured(kCase, 0.8, 0.7, 0.9))).change, Change::unchanged);
}

TEST(Compare, OneSampleIsAPoint) {
  const ComparedCase worse = *One(one_sample(kCase, 1.0), one_sample(kCase, 1.1));
  EXPECT_EQ(worse.change, Change::worse);
  EXPECT_TRUE(worse.one_sample);
  EXPECT_EQ(verdict_text(worse), "worse (one sample)");
  EXPECT_EQ((*One(one_sample(kCase, 1.0), one_sample(kCase, 1.0))).change, Change::unchanged);
  EXPECT_EQ((*One(measured(kCase, 1.0, 0.9, 1.1), one_sample(kCase, 1.05))).change,
            Change::unchanged);
}

TEST(Compare, AnIntervalBesideItsMedianDoesNotTurnTheVerdict) {
  // Slower by the median, faster by the interval alone.
  const ComparedCase odd = *One(measured(kCase, 1.0, 0.9, 1.1), measured(kCase, 2.0, 0.1, 0.2));
  EXPECT_EQ(odd.change, Change::unchanged);
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
  other["mode"] = "loop";
  EXPECT_EQ(verdict_text(*One(base, other)), "not comparable: mode adaptive, now loop");
  other = base;
  other["flushed"] = true;
  EXPECT_EQ(verdict_text(*One(base, other)), "not comparable: cache flushed now");
  EXPECT_EQ(verdict_text(*One(other, base)), "not comparable: cache no longer flushed");
  other = base;
  other["cost"]["wire_bytes"] = 2e9;
  EXPECT_EQ(verdict_text(*One(base, other)), "not comparable: not the same work");
  other = measured(kCase, 0, 0, 0);
  EXPECT_EQ(verdict_text(*One(base, other)), "not comparable: a median of 0");
  EXPECT_EQ(verdict_text(*One(other, base)), "not comparable: a median of 0");
  EXPECT_EQ(verdict_text(*One(other, other)), "not comparable: a median of 0");
}

TEST(Compare, TheLastRecordOfACaseCounts) {
  const JournalContents base =
      journal("base", {make_record(kCase, Failure{false, "once"}), measured(kCase, 1, 1, 1),
                       environment("cuda", "NVIDIA H200"), measured(kCase, 2, 2, 2)});
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
  EXPECT_EQ(regressions(cases, 0).size(), 2u) << "overlapping intervals are no regression";
}

}  // namespace
}  // namespace duet
