#include "verdict/verdict.h"

#include <gtest/gtest.h>

#include "verdict/summary.h"

namespace duet {
namespace {

Environment environment(const char* name, const char* kind, const char* model) {
  Environment environment;
  MachineFacts& machine = environment.machines.emplace_back();
  machine.name = name;
  for (int i = 0; i < 4; ++i) {
    DeviceInfo& device = machine.devices.emplace_back();
    device.name = name + std::string(":") + std::to_string(i);
    device.kind = kind;
    device.model = model;
  }
  environment.run.emplace().variables.set("OPENBLAS_CORETYPE", "Haswell");
  return environment;
}

Record record(const CaseId& id, const Cost& cost, double seconds) {
  Measurement measurement;
  measurement.id = id;
  measurement.cost = cost;
  measurement.sampling.emplace();
  measurement.sampling->samples = {seconds};
  return make_record(measurement);
}

// A copy of 2 GB from device 0 to 1 by a copy engine.
Record copy(const char* device, double gb_per_s) {
  const double bytes = 2e9;
  return record({"copy",
                 device,
                 "duet",
                 {{"kind", "peer"},
                  {"executor", "dma"},
                  {"issue", "push"},
                  {"pattern", "pair"},
                  {"bytes", std::int64_t{2000000000}},
                  {"source", device + std::string(":0")},
                  {"destination", device + std::string(":1")},
                  {"bidirectional", false}}},
                {0, 0, bytes}, bytes / gb_per_s / 1e9);
}

Record cpu_gemm(const char* benchmark, const char* engine, double tflops) {
  const std::int64_t n = 2048;
  const double flop = 2.0 * n * n * n;
  return record({benchmark, "host", engine, {{"m", n}, {"n", n}, {"k", n}, {"dtype", "fp32"}}},
                {flop, 0, 0}, flop / tflops / 1e12);
}

Evaluator h200() {
  Evaluator evaluator;
  evaluator.see(environment("cuda", "cuda", "NVIDIA H200"));
  return evaluator;
}

TEST(Verdicts, AHealthyLinkPasses) {
  const Verdict verdict = h200().evaluate(copy("cuda", 392));
  EXPECT_EQ(verdict.word, Word::pass) << verdict.sentence;
  EXPECT_EQ(verdict.rate, "gb_per_s");
  EXPECT_DOUBLE_EQ(*verdict.bound, 450);
  EXPECT_EQ(verdict.advice, "");
}

// As duet health measures each.
TEST(Verdicts, AFigureOfOneDeviceOfAMachineIsJudged) {
  Environment simulated = environment("sim", "sim", "NVIDIA H200");
  simulated.machines[0].virtual_time = true;
  Evaluator evaluator;
  evaluator.see(simulated);
  const auto gemm = [](const char* device, double tflops) {
    const std::int64_t n = 8192;
    const double flop = 2.0 * n * n * n;
    return record({"gemm", device, "model", {{"m", n}, {"n", n}, {"k", n}, {"dtype", "bf16"}}},
                  {flop, 0, 0}, flop / tflops / 1e12);
  };
  const Verdict whole = evaluator.evaluate(gemm("sim", 750));
  const Verdict part = evaluator.evaluate(gemm("sim:1", 750));
  EXPECT_EQ(part.word, Word::pass) << part.sentence;
  EXPECT_EQ(part.sentence, whole.sentence);
  EXPECT_TRUE(part.simulated);
  EXPECT_EQ(evaluator.evaluate(gemm("sim:1", 300)).word, Word::low);
  EXPECT_EQ(evaluator.evaluate(gemm("other:1", 750)).word, Word::no_expectation);
  EXPECT_EQ(evaluator.ceilings().size(), 1u);  // machines have ceilings, not each of their devices
}

TEST(Verdicts, ASlowLinkIsLowWithAReasonAndAdvice) {
  const Verdict verdict = h200().evaluate(copy("cuda", 243));
  EXPECT_EQ(verdict.word, Word::low);
  EXPECT_NE(verdict.sentence.find("243 GB/s is 0.6"), std::string::npos) << verdict.sentence;
  EXPECT_NE(verdict.sentence.find("NVLink"), std::string::npos) << verdict.sentence;
  EXPECT_NE(verdict.advice.find("pair matrix"), std::string::npos);
}

TEST(Verdicts, AShareNearTheLimitHasDigitsEnoughToShowItsSide) {
  const double limit = 0.9 * *h200().evaluate(copy("cuda", 392)).expected;
  const Verdict low = h200().evaluate(copy("cuda", 0.9999 * limit));
  EXPECT_EQ(low.word, Word::low);
  EXPECT_NE(low.sentence.find("is 0.8999 of"), std::string::npos) << low.sentence;
  const Verdict pass = h200().evaluate(copy("cuda", 1.0001 * limit));
  EXPECT_EQ(pass.word, Word::pass);
  EXPECT_NE(pass.sentence.find("is 0.90 of"), std::string::npos) << pass.sentence;
}

TEST(Verdicts, AnEngineBesideOneThatPassesIsCompared) {
  Evaluator evaluator;
  evaluator.see(environment("host", "host", "CPU"));
  evaluator.see(cpu_gemm("gemm_peak", "fma-peak", 1.0));
  const Record slow = cpu_gemm("gemm", "slow", 0.5), fast = cpu_gemm("gemm", "fast", 0.9);
  evaluator.see(slow);
  EXPECT_EQ(evaluator.evaluate(slow).word, Word::low);  // alone
  evaluator.see(fast);
  const Verdict compared = evaluator.evaluate(slow);
  EXPECT_EQ(compared.word, Word::no_expectation);
  EXPECT_NE(compared.sentence.find("fast reaches 0.9 TFLOP/s"), std::string::npos)
      << compared.sentence;
  EXPECT_EQ(compared.advice, "");
  EXPECT_EQ(evaluator.evaluate(fast).word, Word::pass);
  evaluator.see(cpu_gemm("gemm", "fast", 0.5));  // measured again, and now as slow
  EXPECT_EQ(evaluator.evaluate(slow).word, Word::low);
}

TEST(Verdicts, ASummarySettlesDoubtsByLaterEngines) {
  VerdictSummary summary(environment("host", "host", "CPU"));
  summary.result(cpu_gemm("gemm_peak", "fma-peak", 1.0), false);
  summary.result(cpu_gemm("gemm", "slow", 0.5), false);
  EXPECT_EQ(summary.doubts(), 1);
  summary.result(cpu_gemm("gemm", "fast", 0.9), false);
  EXPECT_EQ(summary.doubts(), 0);
  EXPECT_EQ(summary.judged(), 1);
  EXPECT_EQ(summary.text(), "verdicts: 1 PASS, 2 no expectation\n");
}

Record beside_load(Record one, double others) {
  one.load = {std::nullopt, others, 0.0};
  return one;
}

TEST(Verdicts, ABusyCpuIsUnknown) {
  Evaluator evaluator;
  evaluator.see(environment("host", "host", "CPU"));
  evaluator.see(cpu_gemm("gemm_peak", "fma-peak", 1.0));
  const Verdict busy = evaluator.evaluate(beside_load(cpu_gemm("gemm", "cpu", 0.4), 0.57));
  EXPECT_EQ(busy.word, Word::busy);
  EXPECT_EQ(busy.sentence,
            "unknown: busy: while it was measured, others used 57% of the CPU, 0% was stolen");
  EXPECT_EQ(evaluator.evaluate(beside_load(cpu_gemm("gemm", "cpu", 0.4), 0.05)).word, Word::low);
  // A GPU does not wait for the CPU.
  EXPECT_EQ(h200().evaluate(beside_load(copy("cuda", 243), 0.57)).word, Word::low);
}

TEST(Verdicts, ADisturbedPeakIsNoCeiling) {
  Evaluator evaluator;
  evaluator.see(environment("host", "host", "CPU"));
  evaluator.see(beside_load(cpu_gemm("gemm_peak", "fma-peak", 0.08), 0.57));
  const Record fast = cpu_gemm("gemm", "cpu", 0.14);
  EXPECT_EQ(evaluator.evaluate(fast).word, Word::busy);
  EXPECT_TRUE(evaluator.ceilings().at("host").peaks.empty());
  // Figures that are not compared with it are not in doubt for it.
  Record other_type = fast;
  other_type.id.axes.set("dtype", "bf16");
  EXPECT_EQ(evaluator.evaluate(other_type).word, Word::no_expectation);
  evaluator.see(cpu_gemm("gemm_peak", "fma-peak", 0.15));
  EXPECT_EQ(evaluator.evaluate(fast).word, Word::pass);
}

TEST(Verdicts, RanksThatShareADeviceAreNotJudged) {
  Environment shared = environment("cuda", "cuda", "NVIDIA H200");
  for (DeviceInfo& device : shared.machines[0].devices) device.bus = "0000:19:00.0";
  Evaluator evaluator;
  evaluator.see(shared);
  const Verdict verdict = evaluator.evaluate(copy("cuda", 243));
  EXPECT_EQ(verdict.word, Word::no_expectation);
  EXPECT_NE(verdict.sentence.find("shared by several ranks"), std::string::npos)
      << verdict.sentence;
}

TEST(VerdictSummaries, CountWhatIsUnknownForLoad) {
  VerdictSummary summary(environment("host", "host", "CPU"));
  summary.result(cpu_gemm("gemm_peak", "fma-peak", 1.0), false);
  summary.result(beside_load(cpu_gemm("gemm", "cpu", 0.4), 0.57), false);
  EXPECT_EQ(summary.text(), "verdicts: 1 unknown: busy, 1 no expectation\n");
  EXPECT_EQ(summary.busy(), 1);
  EXPECT_EQ(summary.judged(), 0);
  EXPECT_EQ(summary.doubts(), 0);
}

TEST(Verdicts, PassesOfSimulatedMachinesAreCountedApart) {
  Environment both = environment("cuda", "cuda", "NVIDIA H200");
  both.machines.push_back(environment("sim", "sim", "NVIDIA H200").machines[0]);
  both.machines[1].virtual_time = true;
  VerdictSummary summary(both);
  summary.result(copy("cuda", 392), false);
  summary.result(copy("sim", 392), false);
  summary.result(copy("sim", 391), false);
  EXPECT_EQ(summary.passed(false), 1);
  EXPECT_EQ(summary.passed(true), 2);
  EXPECT_EQ(summary.judged(), 3);
  EXPECT_EQ(summary.text(), "verdicts: 1 PASS\nverdicts on simulated machines: 2 PASS\n");
  Evaluator evaluator;
  evaluator.see(both);
  EXPECT_TRUE(evaluator.evaluate(copy("sim", 392)).simulated);
  EXPECT_FALSE(evaluator.evaluate(copy("cuda", 392)).simulated);
}

TEST(Verdicts, FasterThanPhysicsIsSuspect) {
  EXPECT_NE(h200().evaluate(copy("cuda", 450)).word, Word::suspect_high);
  const Verdict verdict = h200().evaluate(copy("cuda", 480));
  EXPECT_EQ(verdict.word, Word::suspect_high);
  EXPECT_NE(verdict.sentence.find("1.07 times the bound of 450"), std::string::npos)
      << verdict.sentence;
}

TEST(Verdicts, AnUnknownDeviceNeverPasses) {
  Evaluator evaluator;
  evaluator.see(environment("cuda", "cuda", "NVIDIA Z1"));
  const Verdict verdict = evaluator.evaluate(copy("cuda", 1e6));
  EXPECT_EQ(verdict.word, Word::no_expectation);
  EXPECT_NE(verdict.sentence.find("specs/devices has no \"NVIDIA Z1\""), std::string::npos);
  EXPECT_EQ(Evaluator().evaluate(copy("cuda", 392)).word, Word::no_expectation);
}

TEST(Verdicts, ACpuIsHeldAgainstThePeakOfItsRun) {
  Evaluator evaluator;
  evaluator.see(environment("host", "host", "Some CPU"));
  EXPECT_EQ(evaluator.evaluate(cpu_gemm("gemm", "onednn", 0.48)).word, Word::no_expectation);
  evaluator.see(cpu_gemm("gemm_peak", "fma-peak", 0.5));
  EXPECT_EQ(evaluator.evaluate(cpu_gemm("gemm", "onednn", 0.48)).word, Word::pass);
  EXPECT_EQ(evaluator.evaluate(cpu_gemm("gemm", "onednn", 0.52)).word, Word::pass);
  EXPECT_EQ(evaluator.evaluate(cpu_gemm("gemm", "onednn", 0.54)).word, Word::suspect_high);
  const Verdict low = evaluator.evaluate(cpu_gemm("gemm", "openblas", 0.25));
  EXPECT_EQ(low.word, Word::low);
  EXPECT_NE(low.advice.find("OPENBLAS_CORETYPE=Haswell"), std::string::npos) << low.advice;
  EXPECT_EQ(evaluator.evaluate(cpu_gemm("gemm_peak", "fma-peak", 0.5)).word, Word::no_expectation);
}

TEST(Verdicts, ShareOfAPeakOfTilesIsAnother) {
  Evaluator evaluator;
  evaluator.see(environment("host", "host", "Some CPU"));
  Record peak = cpu_gemm("gemm_peak", "fma-peak", 7.0);
  peak.notes.set("instruction", "tdpbf16ps, tiles of 16 x 64 bytes");
  evaluator.see(peak);
  EXPECT_EQ(evaluator.evaluate(cpu_gemm("gemm", "onednn", 1.4)).word, Word::pass);
  EXPECT_EQ(evaluator.evaluate(cpu_gemm("gemm", "onednn", 0.7)).word, Word::low);
  EXPECT_EQ(evaluator.evaluate(cpu_gemm("gemm", "onednn", 7.5)).word, Word::suspect_high);
}

TEST(Verdicts, PeaksOfAnotherModelDoNotCount) {
  Evaluator evaluator;
  evaluator.see(environment("host", "host", "Some CPU"));
  evaluator.see(cpu_gemm("gemm_peak", "fma-peak", 0.5));
  evaluator.see(environment("host", "host", "Some CPU"));  // a resumed run
  EXPECT_EQ(evaluator.evaluate(cpu_gemm("gemm", "onednn", 0.48)).word, Word::pass);
  evaluator.see(environment("host", "host", "Another CPU"));
  EXPECT_EQ(evaluator.evaluate(cpu_gemm("gemm", "onednn", 0.48)).word, Word::no_expectation);
}

TEST(Verdicts, AdviceIsOfTheRunAndNotOfOneBefore) {
  Evaluator evaluator;
  evaluator.see(environment("host", "host", "Some CPU"));
  Environment later = environment("host", "host", "Some CPU");
  later.run->variables = {};
  evaluator.see(later);
  evaluator.see(cpu_gemm("gemm_peak", "fma-peak", 0.5));
  const Verdict low = evaluator.evaluate(cpu_gemm("gemm", "openblas", 0.2));
  EXPECT_EQ(low.word, Word::low);
  EXPECT_EQ(low.advice.find("OPENBLAS_CORETYPE"), std::string::npos) << low.advice;
}

TEST(Verdicts, FiguresFollowFromCostAndTime) {
  Record lying = copy("cuda", 243);
  lying.rates.set("gb_per_s", 392);
  EXPECT_EQ(h200().evaluate(lying).word, Word::low);
  lying.cost.wire_bytes = 0;
  EXPECT_EQ(h200().evaluate(lying).word, Word::no_expectation);
}

CaseId halo_case(const char* benchmark, std::int64_t ranks) {
  return {benchmark,
          "cuda",
          "dma",
          {{"scaling", std::string("strong")},
           {"ranks", ranks},
           {"overlap", true},
           {"norm", std::string("none")}}};
}

Record swept(std::int64_t ranks, double gb_per_s) {
  Cost cost;
  cost.more = {{"points", 1e9}};
  cost.memory_bytes = 8e9;
  return record(halo_case("halo", ranks), cost, 8 / gb_per_s);
}

Record halo_scaling() {
  Measurement measurement;
  measurement.id = halo_case("halo_scaling", 2);
  measurement.rates = {{"efficiency", 0.98}};
  return make_record(measurement);
}

TEST(Verdicts, AnEfficiencyOverASlowBaselineHasAWarning) {
  Evaluator evaluator = h200();
  EXPECT_NE(evaluator.warning(halo_scaling()), "");
  evaluator.see(swept(1, 17));  // a sweep of 0.47 s where memory allows one of 1.7 ms
  const std::string slow = evaluator.warning(halo_scaling());
  EXPECT_NE(slow.find("its baseline is not PASS: LOW, 17 GB/s is 0.00"), std::string::npos) << slow;
  evaluator.see(swept(1, 4200));
  EXPECT_EQ(evaluator.warning(halo_scaling()), "");
  evaluator.see(swept(2, 17));  // no baseline
  EXPECT_EQ(evaluator.warning(halo_scaling()), "");
}

TEST(VerdictSummaries, SayWhatEfficienciesAreOver) {
  VerdictSummary summary(environment("cuda", "cuda", "NVIDIA H200"));
  summary.result(swept(1, 17), false);
  summary.result(halo_scaling(), false);
  EXPECT_NE(
      summary.text().find("1 efficiency is over a baseline that is not PASS, as halo_scaling"),
      std::string::npos)
      << summary.text();
}

TEST(VerdictSummaries, KnowWhatAnEarlierCommandHasMeasured) {
  const Environment now = environment("host", "host", "CPU");
  const Record slow = cpu_gemm("gemm", "slow", 0.2);
  const std::vector<JournalRun> earlier{{now, {cpu_gemm("gemm_peak", "fma-peak", 0.5)}}};
  EXPECT_EQ(VerdictSummary(now).word(slow), Word::no_expectation);
  EXPECT_EQ(VerdictSummary(now, earlier).word(slow), Word::low);
}

TEST(VerdictSummaries, CountAndNameWhatIsNotAsItShouldBe) {
  VerdictSummary summary(environment("cuda", "cuda", "NVIDIA H200"));
  EXPECT_EQ(summary.text(), "");
  summary.result(copy("cuda", 392), false);
  summary.result(copy("cuda", 243), false);
  summary.result(copy("sim:h200-4", 243), false);
  EXPECT_EQ(summary.doubts(), 1);
  EXPECT_EQ(summary.judged(), 2);
  EXPECT_TRUE(summary.doubtful(copy("cuda", 480)));
  EXPECT_FALSE(summary.doubtful(copy("cuda", 392)));
  const std::string text = summary.text();
  EXPECT_EQ(text.find("verdicts: 1 PASS, 1 LOW, 1 no expectation\n"), 0u) << text;
  EXPECT_NE(text.find("  LOW: copy peer dma push pair"), std::string::npos) << text;
  EXPECT_NE(text.find("to try: "), std::string::npos) << text;
}

}  // namespace
}  // namespace duet
