#include "training/models/gpt_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

// A model as the study lists it, with its formula N = L(4d^2 + 2df + 4d) + Vd + Td + 2d.
struct StudyRow {
  const char* name;
  std::int64_t parameters;
  double tokens_per_second, tflops;  // on an MI350X; the rate is 6 N x tokens per second
};

constexpr StudyRow kStudy[] = {
    {"small", 30122112, 950586, 171.8}, {"medium", 0, 298957, 222.4},
    {"large", 0, 107626, 228.7},        {"xl", 0, 40054, 185.8},
    {"1.5b", 0, 24195, 208.6},          {"3b", 0, 11980, 190.3},
    {"7b", 5243744256, 18381, 578.3},   {"13b", 10120002560, 7941, 482.2},
};

TEST(GptConfig, CountsParametersAsTheStudyDoes) {
  ASSERT_EQ(gpt_configs().size(), std::size(kStudy));
  for (const StudyRow& row : kStudy) {
    const GptConfig config = find_gpt(row.name);
    const std::int64_t d = config.width, f = config.ffn_width;
    const std::int64_t formula = config.layers * (4 * d * d + 2 * d * f + 4 * d) +
                                 config.vocabulary * d + config.sequence * d + 2 * d;
    EXPECT_EQ(parameter_count(config), formula) << row.name;
    if (row.parameters > 0) {
      EXPECT_EQ(parameter_count(config), row.parameters) << row.name;
    }
    // The study rounds to one decimal; one of its cells is off by one in the last.
    EXPECT_NEAR(flop_per_token(config).six_n * row.tokens_per_second / 1e12, row.tflops, 0.1)
        << row.name;
  }
}

TEST(GptConfig, CountsFlop) {
  // 7B: 31.46, 33.07 and 32.24 GFLOP per token.
  const TrainingFlop flop = flop_per_token(find_gpt("7b"));
  EXPECT_NEAR(flop.six_n / 1e9, 31.46, 0.005);
  EXPECT_NEAR(flop.six_n_attention / 1e9, 33.07, 0.005);
  EXPECT_NEAR(flop.model / 1e9, 32.24, 0.005);
  EXPECT_NEAR((flop.hardware - flop.model) / 1e9, 32 * 4096 * 1024 / 1e9, 1e-9);
}

TEST(GptConfig, ListsEachParameterOnce) {
  const GptConfig config = find_gpt("small");
  std::vector<std::string> names;
  for (const ModelParameter& each : parameters(config)) {
    names.push_back(each.name);
    EXPECT_EQ(each.decays, each.rows > 1) << each.name;
  }
  EXPECT_EQ(names.size(), 2 + 6 * 8 + 2u);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

std::string refusal(const std::string& text) {
  return message_of<UsageError>([&] { read_gpt_configs("own.toml", text); });
}

TEST(GptConfig, RefusesFilesWithOneLine) {
  const std::string good =
      "[[model]]\nname = \"own\"\nlayers = 1\nheads = 3\nffn_width = 8\nvocabulary = 16\n"
      "batch = 1\nsequence = 4\n";
  EXPECT_EQ(read_gpt_configs("own.toml", good + "width = 6\n").front().head_width(), 2);
  EXPECT_EQ(refusal(good + "width = 7\n"),
            "own.toml:9: 'model[0].width' is 7: expected a multiple of the 3 heads");
  EXPECT_NE(refusal(good).find("'model[0].width' is missing"), std::string::npos) << refusal(good);
  EXPECT_NE(refusal(good + "width = 6\ndepth = 2\n").find("unknown key"), std::string::npos);
  EXPECT_THROW(find_gpt("smal"), UsageError);
  EXPECT_THROW(find_gpt("/nowhere/own.toml"), UsageError);
}

}  // namespace
}  // namespace duet
