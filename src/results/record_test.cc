#include "results/record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/message_fixture.h"
#include "results/journal.h"
#include "results/record_json.h"

namespace duet {
namespace {

CaseId gemm_case() {
  return {"gemm",
          "sim:mi300x-8",
          "model",
          {{"m", std::int64_t{8192}},
           {"scale", 1.0},
           {"transposed", true},
           {"dtype", std::string("bf16")},
           {"sets", std::vector<std::string>{"seed", "llama"}}}};
}

Measurement measured() {
  Measurement measurement;
  measurement.id = gemm_case();
  Sampling sampling;
  sampling.samples = {0.4, 0.5, 0.6};
  sampling.stopped_by = "interval";
  sampling.mode = "adaptive";
  sampling.verified = true;
  sampling.telemetry = {{700, 700, 1400, 2600, 60, 100, ""},
                        {600, 700, 1500, 2600, 62, 400, "power"}};
  sampling.warnings = {"second"};
  measurement.sampling = sampling;
  measurement.cost = {1e12, 2e9, 0};
  measurement.rates = {{"percent_of_peak", 61.5}};
  measurement.notes = {{"algorithm", "7"}};
  measurement.warnings = {"first"};
  return measurement;
}

Record read_again(const Record& record) {
  return std::get<Record>(journal_line_from(Json::parse(journal_line(record))));
}

TEST(Record, HoldsTimesRatesAndWhatWasSeen) {
  const Record record = make_record(measured());
  EXPECT_EQ(record.id.axes, gemm_case().axes);
  EXPECT_DOUBLE_EQ(record.seconds.median, 0.5);
  EXPECT_EQ(record.seconds.n, 3u);
  EXPECT_EQ(record.seconds.stopped_by, "interval");
  EXPECT_DOUBLE_EQ(record.rates.value("tflops"), 2);
  EXPECT_FALSE(record.rates.contains("gb_per_s"));
  EXPECT_DOUBLE_EQ(record.rates.value("percent_of_peak"), 61.5);
  EXPECT_EQ(record.notes.value("algorithm"), "7");
  EXPECT_EQ(record.warnings, (std::vector<std::string>{"first", "second"}));
  ASSERT_TRUE(record.telemetry && record.telemetry->watts);
  EXPECT_EQ(record.telemetry->watts->mean, 650);
  EXPECT_EQ(record.telemetry->joules, 300);
  EXPECT_EQ(record.telemetry->throttle, std::vector<std::string>{"power"});
  EXPECT_EQ(record.samples.size(), 3u);
  EXPECT_TRUE(record.verified);
  const Json json = to_json(record);
  EXPECT_EQ(json["type"], "result");
  EXPECT_EQ(json["schema"], kJournalSchema);
  EXPECT_EQ(json["case"]["sets"], (std::vector<std::string>{"seed", "llama"}));
}

TEST(Record, ComesBackFromItsText) {
  const Record record = read_again(make_record(measured()));
  const Finished finished = finished_of(record);
  EXPECT_EQ(finished.id.axes, gemm_case().axes);
  EXPECT_EQ(finished.id.device, "sim:mi300x-8");
  EXPECT_DOUBLE_EQ(finished.median_seconds, 0.5);
  EXPECT_DOUBLE_EQ(finished.cost.flop, 1e12);
  EXPECT_EQ(record.outcome, Outcome::measured);
}

TEST(Record, SkippedHasAReasonInsteadOfNumbers) {
  Measurement measurement;
  measurement.id = gemm_case();
  measurement.skipped = Skipped{"no fp8 here"};
  const Record record = make_record(measurement);
  const Json json = to_json(record);
  EXPECT_EQ(json["skipped"]["reason"], "no fp8 here");
  EXPECT_FALSE(json.contains("seconds"));
  EXPECT_FALSE(json.contains("rates"));
  EXPECT_EQ(record.outcome, Outcome::skipped);
  EXPECT_EQ(record.reason, "no fp8 here");
  EXPECT_EQ(finished_of(record).median_seconds, 0);
}

TEST(Record, DerivedHasRatesAndNoTimes) {
  Measurement measurement;
  measurement.id = gemm_case();
  measurement.rates = {{"latency_us", 9.5}};
  const Record record = make_record(measurement);
  EXPECT_EQ(record.outcome, Outcome::derived);
  EXPECT_FALSE(to_json(record).contains("seconds"));
  EXPECT_DOUBLE_EQ(record.rates.value("latency_us"), 9.5);
}

TEST(Record, FailuresSayWhetherDataWasWrong) {
  EXPECT_EQ(make_record(gemm_case(), Failure{true, "byte 7"}).outcome, Outcome::wrong);
  const Record failed = make_record(gemm_case(), Failure{false, "no launch"});
  EXPECT_EQ(failed.outcome, Outcome::failed);
  EXPECT_EQ(failed.reason, "no launch");
}

TEST(Record, KeysDoNotDependOnTheOrderOfAxes) {
  CaseId turned = gemm_case();
  turned.axes = gemm_case().axes.without({"m"});
  turned.axes.set("m", *gemm_case().axes.find("m"));
  EXPECT_NE(turned.axes, gemm_case().axes);
  EXPECT_EQ(case_key(turned), case_key(gemm_case()));
  turned.engine = "other";
  EXPECT_NE(case_key(turned), case_key(gemm_case()));
  CaseId text = gemm_case();
  text.axes.set("m", std::string("8192"));
  EXPECT_NE(case_key(text), case_key(gemm_case()));
}

TEST(Record, OlderJournalsHaveInPlaceInTheScenariosName) {
  const auto overlap = [](const std::string& scenario, Axes more) {
    Axes axes = {{"scenario", scenario}};
    for (const auto& [name, value] : more) axes.set(name, value);
    return CaseId{"overlap", "cuda", "dma", axes};
  };
  const CaseId out = overlap("mb1 all_gather", {{"in_place", false}});
  const CaseId in = overlap("mb1 all_gather", {{"in_place", true}});
  EXPECT_EQ(case_key(overlap("mb1 all_gather", {})), case_key(out));
  EXPECT_EQ(case_key(overlap("mb1 all_gather in place", {})), case_key(in));
  EXPECT_NE(case_key(in), case_key(out));
  Measurement old;
  old.id = overlap("mb1 all_gather in place", {});
  const Record record = make_record(old);
  EXPECT_EQ(finished_of(record).id.axes, in.axes);
  EXPECT_EQ(record.id.axes, old.id.axes) << "shown as it was written";
}

TEST(Record, KeysSurviveTheJournal) {
  EXPECT_EQ(case_key(read_again(make_record(measured())).id), case_key(gemm_case()));
}

TEST(Record, NamesTheFieldThatIsMissing) {
  Json json = to_json(make_record(measured()));
  json["seconds"].erase("median");
  EXPECT_EQ(message_of<Error>([&] { journal_line_from(json); }),
            "\"seconds.median\" is missing: expected a number, 0 or more");
  json = to_json(make_record(measured()));
  json["device"] = 7;
  EXPECT_THROW(journal_line_from(json), Error);
}

}  // namespace
}  // namespace duet
