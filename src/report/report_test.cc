// The page's data: which records count, what journals are called, and text that stays text.
#include "report/report.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace duet {
namespace {

Environment environment(const std::string& model = "NVIDIA H200") {
  DeviceInfo device;
  device.name = "cuda:0";
  device.kind = "cuda";
  device.model = model;
  Environment environment;
  environment.machines = {{"cuda:0", false, {device}, {}}};
  return environment;
}

// What the page has of a journal.
Json journal_of(const std::vector<JournalRun>& runs) {
  return report_data({{"a.jsonl", runs, {}}})["journals"][0];
}
Json journal_of(const std::vector<Record>& results) {
  return journal_of(std::vector<JournalRun>{{environment(), results}});
}

Record gemm(std::int64_t m, double tflops) {
  Measurement measurement;
  measurement.id = {"gemm",
                    "cuda:0",
                    "cublaslt",
                    {{"m", m}, {"n", m}, {"k", m}, {"dtype", "bf16"}, {"layout", "nn"}}};
  const auto size = static_cast<double>(m);
  measurement.cost.flop = 2 * size * size * size;
  measurement.sampling.emplace();
  measurement.sampling->samples = {measurement.cost.flop / tflops / 1e12};
  return make_record(measurement);
}

TEST(ReportData, TheLastRecordOfACaseCountsInItsFirstPlace) {
  const Json records = journal_of({gemm(8192, 500), gemm(4096, 700), gemm(8192, 710)})["records"];
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["case"]["m"], 8192);
  EXPECT_NEAR(records[0]["rates"]["tflops"].get<double>(), 710, 1e-3);
  EXPECT_EQ(records[0]["verdict"]["word"], "PASS");
  EXPECT_FALSE(records[0].contains("samples"));
}

TEST(ReportData, EnginesThatComeLaterCount) {
  const auto by = [](const char* engine, double tflops) {
    Record record = gemm(8192, tflops);
    record.id.engine = engine;
    return record;
  };
  const Json records = journal_of({by("cublas", 300), by("cublaslt", 710)})["records"];
  EXPECT_EQ(records[0]["verdict"]["word"], "no expectation");
  EXPECT_EQ(records[1]["verdict"]["word"], "PASS");
}

TEST(ReportData, OverlapKeepsItsMetricsAndItsTimeline) {
  Measurement measurement;
  measurement.id = {"overlap", "cuda:0", "dma", {{"scenario", "mb1 all_gather"}}};
  measurement.sampling.emplace();
  measurement.sampling->samples = {0.01};
  measurement.metrics = {{"bound", 0.5}};
  measurement.notes = {{"class", "G-long"}};
  measurement.timeline = {{{0, 0.009}, {0.001, 0.01}}};
  const Json record = journal_of({make_record(measurement)})["records"][0];
  EXPECT_EQ(record["metrics"], Json({{"bound", 0.5}}));
  EXPECT_EQ(record["timeline"].dump(), R"([{"compute":[0.0,0.009],"communication":[0.001,0.01]}])");
  EXPECT_EQ(record["verdict"]["word"], "no expectation");
}

Record overlapping(const std::string& policy, double fraction, std::int64_t ranks = 8) {
  Measurement measurement;
  measurement.id = {"overlap",
                    "cuda:0",
                    "dma",
                    {{"scenario", std::string("mb1_4G all_gather")},
                     {"collective", std::string("all_gather")},
                     {"policy", policy},
                     {"ranks", ranks}}};
  measurement.sampling.emplace();
  measurement.sampling->samples = {0.01};
  measurement.metrics = {{"fraction_of_ideal", fraction}};
  return make_record(measurement);
}

TEST(ReportData, AStudyStandsBesideTheFiguresOfItsMachine) {
  const std::vector<Record> records{overlapping("dma", 0.6), overlapping("dma+partition:8", 0.7),
                                    overlapping("dma+partition:16", 0.65),
                                    overlapping("base", 0.2, 4)};  // other ranks than the study's
  const auto studies = [&](const Environment& first) -> Json {
    return journal_of(std::vector<JournalRun>{{first, records}})["studies"];
  };
  const Json found = studies(environment("AMD Instinct MI300X"));
  ASSERT_EQ(found.size(), 1u);
  std::map<std::string, Json> rows;
  for (const Json& row : found[0]["rows"]) rows[row["name"].get<std::string>()] = row;
  EXPECT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows["ConCCL"]["mean"], 0.6);
  EXPECT_EQ(rows["ConCCL"]["reported"], 0.66);
  EXPECT_EQ(rows["ConCCL_rp"]["mean"], 0.7);  // the sweep's fastest point
  EXPECT_EQ(rows["ConCCL_rp"]["scenarios"], 1);
  EXPECT_TRUE(studies(environment()).empty());  // another device
}

TEST(ReportData, VerdictsSayThatAMachineIsSimulated) {
  std::vector<JournalRun> runs = {{environment(), {gemm(8192, 700)}}};
  EXPECT_FALSE(journal_of(runs)["records"][0]["verdict"].contains("simulated"));
  runs[0].environment.machines[0].virtual_time = true;
  EXPECT_EQ(journal_of(runs)["records"][0]["verdict"]["simulated"], true);
}

TEST(ReportData, RecordsKnowTheirRun) {
  const std::vector<JournalRun> runs = {{environment(), {gemm(8192, 700)}},
                                        {environment(), {gemm(4096, 700)}}};
  const Json records = journal_of(runs)["records"];
  EXPECT_EQ(records[0]["environment"], 0);
  EXPECT_EQ(records[1]["environment"], 1);
}

TEST(ReportData, CeilingsAreWhatTheModelPromises) {
  const Json ceiling = journal_of({gemm(8192, 700)})["ceilings"]["cuda:0"];
  EXPECT_EQ(ceiling["source"], "promised");
  EXPECT_EQ(ceiling["tflops"]["bf16"], 989.4);
  EXPECT_EQ(ceiling["memory_gb_per_s"], 4800.0);
  EXPECT_NE(ceiling["sources"][0].get<std::string>().find("NVIDIA H200 Tensor Core GPU"),
            std::string::npos);
}

TEST(ReportData, JournalsOfOneNameAreToldApartByTheirFolders) {
  const auto names = [](const std::vector<std::string>& paths) {
    std::vector<ReportJournal> journals;
    for (const std::string& path : paths) journals.push_back({path, {{environment(), {}}}, {}});
    std::vector<std::string> found;
    const Json data = report_data(journals);
    for (const Json& journal : data["journals"]) {
      found.push_back(journal["name"]);
    }
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({"x/a.jsonl", "y/b.jsonl"}), (Names{"a.jsonl", "b.jsonl"}));
  EXPECT_EQ(names({"r/x/a.jsonl", "r/y/a.jsonl"}), (Names{"x/a.jsonl", "y/a.jsonl"}));
  EXPECT_EQ(names({"a.jsonl", "a.jsonl"}), (Names{"a.jsonl (1)", "a.jsonl (2)"}));
}

TEST(ReportData, StudiesRowsAreThere) {
  const Json& rows = reported_rows();
  const auto reports = [&](const char* device) {
    return std::any_of(rows.begin(), rows.end(), [&](const Json& row) {
      return row["device"].get<std::string>().find(device) != std::string::npos;
    });
  };
  EXPECT_TRUE(reports("MI350X"));
  EXPECT_TRUE(reports("MI300X"));
  EXPECT_TRUE(reports("H100"));
}

double items_per_s(const Json& step) {
  return step.value("tokens_per_s", step.value("samples_per_s", 0.0));
}

// TFLOP/s that a study states are its tokens/s times 6N.
void expect_six_n(const Json& step) {
  const double tflops = 6 * step["parameters"].get<double>() * items_per_s(step) / 1e12;
  EXPECT_NEAR(tflops / step["tflops"].get<double>(), 1, 1e-3) << step;
}

TEST(ReportData, StudiesStepsAgreeWithThemselves) {
  const Json& steps = reported_steps();
  EXPECT_GE(steps.size(), 9u);
  for (const Json& step : steps) {
    const double items = step["batch"].get<double>() * step.value("sequence", 1.0);
    const double milliseconds = step["milliseconds"];
    EXPECT_NEAR(items / items_per_s(step) * 1e3 / milliseconds, 1, 5e-3) << step;
    if (step.contains("tflops")) expect_six_n(step);
  }
}

TEST(ReportData, StudiesParallelStepsAreThoseOfModelsWithAllTheirFigures) {
  const Json& steps = reported_parallel_steps();
  std::map<std::string, std::vector<int>> ranks;
  for (const Json& step : steps) {
    ranks[step["model"].get<std::string>() + step.value("recipe", "")].push_back(
        step["ranks"].get<int>());
    EXPECT_FALSE(step["source"].get<std::string>().empty());
    if (step.contains("tflops")) expect_six_n(step);
  }
  EXPECT_EQ(
      ranks,
      (std::map<std::string, std::vector<int>>{
          {"7b", {1, 2, 4, 8, 8}}, {"13b", {8}}, {"qwen3-8bbf16", {8}}, {"qwen3-8bfp8", {8}}}));
  EXPECT_EQ(report_data({})["reported_parallel_steps"], steps);
}

TEST(ReportData, StudiesHaloRowsAreOfOneGridOnEveryNumberOfRanks) {
  const Json& rows = reported_halo();
  std::map<std::string, std::vector<int>> ranks;
  for (const Json& row : rows) {
    EXPECT_EQ(row["nx"], 16384);
    EXPECT_EQ(row["ny"], 16384);
    const bool delays = row["variant"].get<std::string>().find("delayed") != std::string::npos;
    EXPECT_EQ(row["norm"], delays ? "delayed" : "host");
    EXPECT_GT(row["milliseconds"].get<double>(), 0);
    ranks[row["variant"]].push_back(row["ranks"].get<int>());
  }
  EXPECT_EQ(ranks.size(), 7u);
  for (const auto& [variant, list] : ranks) {
    EXPECT_EQ(list, (std::vector<int>{16, 32, 64, 128})) << variant;
  }
  EXPECT_EQ(report_data({})["reported_halo"], rows);
}

TEST(ReportData, StudiesCollectivesAreOfTheSameNumbersOfNodes) {
  const Json& rows = reported_collectives();
  std::map<std::string, std::vector<int>> nodes;
  for (const Json& row : rows) {
    EXPECT_GT(row["busbw_gb_per_s"].get<double>(), 0);
    nodes[row["collective"]].push_back(row["nodes"].get<int>());
  }
  EXPECT_EQ(nodes.size(), 3u);
  for (const auto& [collective, list] : nodes) {
    EXPECT_EQ(list, (std::vector<int>{2, 4, 8, 16, 32})) << collective;
  }
  EXPECT_EQ(report_data({})["reported_collectives"], rows);
}

// An efficiency over a baseline without a verdict says so on the page.
TEST(ReportData, EfficienciesHaveTheWarningOfTheirBaseline) {
  Measurement measurement;
  measurement.id = {
      "halo_scaling", "host:2", "dma", {{"scaling", "strong"}, {"ranks", std::int64_t{2}}}};
  measurement.rates = {{"efficiency", 0.98}};
  const std::vector<JournalRun> runs = {{{}, {make_record(measurement)}}};
  const Json record = journal_of(runs)["records"][0];
  EXPECT_EQ(record["warnings"], Json::array({"the journal does not have its baseline"}));
}

TEST(ReportData, TrainingKeepsItsMetricsAndItsCurves) {
  Measurement measurement;
  measurement.id = {"train_run", "host", "duet", {{"model", "tiny"}, {"recipe", "fp32"}}};
  measurement.cost.more = {{"tokens", 64}};
  measurement.sampling.emplace();
  measurement.sampling->samples = {0.5, 0.5};
  measurement.metrics = {{"first_step", 3}};
  measurement.curves = {{"loss", {5.5, 5.25}}};
  const Json record = journal_of({make_record(measurement)})["records"][0];
  EXPECT_EQ(record["rates"]["tokens_per_s"], 128.0);
  EXPECT_EQ(record["metrics"]["first_step"], 3.0);
  EXPECT_EQ(record["curves"].dump(), R"({"loss":[5.5,5.25]})");
  EXPECT_FALSE(record.contains("samples"));
}

TEST(ReportPage, NothingInTheDataEndsTheScript) {
  if (!has_report_page()) {
    EXPECT_THROW(report_page({}), Unavailable);
    GTEST_SKIP() << "built without Node.js";
  }
  Record hostile = gemm(8192, 700);
  hostile.id.engine = "</script><img src=x onerror=alert(1)><!--";
  const std::string page = report_page({{"</script>.jsonl", {{environment(), {hostile}}}, {}}});
  EXPECT_EQ(page.compare(0, std::string(kReportHead).size(), kReportHead), 0);
  EXPECT_EQ(page.find("<img src=x"), std::string::npos);
  const std::size_t data = page.find("id=\"data\">");
  ASSERT_NE(data, std::string::npos);
  const std::size_t end = page.find("</script>", data);
  const std::string text = page.substr(data + 10, end - data - 10);
  EXPECT_FALSE(Json::parse(text, nullptr, false).is_discarded());
}

}  // namespace
}  // namespace duet
