#include "training/generation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "training/training_run_fixture.h"

namespace duet {
namespace {

std::vector<float> certain(std::size_t byte) {
  std::vector<float> logits(256, 0.0f);
  logits[byte] = 100;
  return logits;
}

TEST(Generation, GivesTheModelItsOwnBytesAsContext) {
  std::vector<std::vector<std::int32_t>> contexts;
  const auto next = [&](const std::vector<std::int32_t>& context) {
    contexts.push_back(context);
    return certain(static_cast<std::size_t>(context.back() + 1));
  };
  EXPECT_EQ(generate({4, "xa", 1}, 3, next), "bcde");
  ASSERT_EQ(contexts.size(), 4u);
  EXPECT_EQ(contexts[0], (std::vector<std::int32_t>{'x', 'a'}));
  EXPECT_EQ(contexts[3], (std::vector<std::int32_t>{'b', 'c', 'd'}));  // the last three
}

TEST(Generation, BeginsWithANewlineAndKnowsAllBytes) {
  std::int32_t first = -1;
  const auto next = [&](const std::vector<std::int32_t>& context) {
    if (first < 0) first = context.front();
    return certain(0xE4);
  };
  EXPECT_EQ(generate({2, "", 0}, 8, next), "\xE4\xE4");
  EXPECT_EQ(first, '\n');
  generate({1, "\xFF", 0}, 8, [&](const std::vector<std::int32_t>& context) {
    EXPECT_EQ(context.front(), 0xFF);
    return certain(0);
  });
}

TEST(Generation, DrawsBytesByTheirProbabilities) {
  const auto next = [](const std::vector<std::int32_t>&) {
    std::vector<float> logits(300, -std::numeric_limits<float>::max());
    logits['a'] = std::log(3.0f);
    logits['b'] = 0;
    logits[299] = 1000;  // no byte
    return logits;
  };
  const auto share_of_a = [&](double temperature) {
    const std::string text = generate({4000, "", temperature}, 8, next);
    EXPECT_EQ(text.find_first_not_of("ab"), std::string::npos);
    return static_cast<double>(std::count(text.begin(), text.end(), 'a')) / 4000;
  };
  EXPECT_NEAR(share_of_a(1), 0.75, 0.03);
  EXPECT_NEAR(share_of_a(0.5), 0.9, 0.03);
  EXPECT_EQ(share_of_a(0), 1);
  Generation asked{50, "", 1};
  const std::string one = generate(asked, 8, next);
  EXPECT_EQ(generate(asked, 8, next), one);
  asked.seed = 2;
  EXPECT_NE(generate(asked, 8, next), one);
}

TEST(Generation, EndsWhereThereAreNoLogits) {
  int calls = 0;
  const auto next = [&](const std::vector<std::int32_t>&) {
    return ++calls > 2 ? std::vector<float>() : certain('a');
  };
  EXPECT_EQ(generate({9, "", 1}, 8, next), "aa");
  const auto ruined = [](const std::vector<std::int32_t>&) {
    return std::vector<float>(256, std::nanf(""));
  };
  EXPECT_THROW(generate({1, "", 1}, 8, ruined), Error);
}

// A model that has learned a text goes on with it, by the parameters of a run and by those of its
// checkpoint.
TEST_F(TrainingRunTest, AModelGoesOnWithItsText) {
  std::ofstream text(path("letters"));
  for (int i = 0; i < 500; ++i) text << "abcde";
  text.close();
  for (const bool gpt : {true, false}) {
    SCOPED_TRACE(gpt);
    TrainingRunSettings s = settings(150);
    s.model = gpt ? tiny(1, 2) : tiny_qwen3({});
    s.data = path("letters");
    s.checkpoint = path(gpt ? "gpt" : "qwen3");
    const Generation asked{12, "abc", 0};
    std::string after;
    Team team(*machine_, {0});
    team.each([&](Rank& rank) {
      const TrainingInput input(s);
      TrainingRun run(rank, input);
      run.run({}, {});
      after = run.generate(asked, {});
      EXPECT_EQ(run.generate(asked, [] { return true; }), "");
    });
    EXPECT_EQ(after, "deabcdeabcde");
    Device& device = machine_->device(0);
    EXPECT_EQ(generate_from(s.checkpoint, s.model, s.recipe, "", device, asked), after);
    const TokenModelDescription other = tiny(2, 2);
    EXPECT_THROW(generate_from(s.checkpoint, other, s.recipe, "", device, asked), UsageError);
  }
}

TEST_F(TrainingRunTest, RanksThatShareAModelMakeItsText) {
  const auto machine = open_machine("host:2");
  TrainingRunSettings s = settings(3);
  s.model = tiny(1, 1);
  s.ranks = 2;
  const Generation asked{5, "abc", 0};
  for (const Parallel way : {Parallel::ddp, Parallel::zero3}) {
    SCOPED_TRACE(name(way));
    std::string texts[2];
    Team team(*machine);
    const auto session = engines_named(*machine, {"auto"}).front()->open(team);
    team.each([&](Rank& rank) {
      const TrainingInput input(s);
      TrainingRun run(rank, input, {way, session.get()});
      run.run({}, {});
      texts[rank.index] = run.generate(asked, {});
    });
    EXPECT_EQ(texts[0].size(), 5u);
    EXPECT_EQ(texts[0], texts[1]);
  }
}

}  // namespace
}  // namespace duet
