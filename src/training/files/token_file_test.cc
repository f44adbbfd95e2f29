#include "training/files/token_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/random.h"

namespace duet {
namespace {

constexpr std::int64_t kGpt2Vocabulary = 50257;
constexpr std::int32_t kGpt2Magic = 20240520, kLlama3Magic = 20240801;

void append_little_endian(std::string& text, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
}

// A header as llm.c's, with nothing after it.
std::string llm_c_header(std::int32_t magic, std::int32_t version, std::int32_t count) {
  std::string text;
  for (const std::int32_t each : {magic, version, count}) {
    append_little_endian(text, static_cast<std::uint32_t>(each), 4);
  }
  text.resize(1024);
  return text;
}

std::string llm_c_file(const std::vector<std::uint32_t>& tokens) {
  std::string text = llm_c_header(kGpt2Magic, 1, static_cast<std::int32_t>(tokens.size()));
  for (const std::uint32_t each : tokens) append_little_endian(text, each, 2);
  return text;
}

std::string file_of_32_bits(const std::vector<std::uint32_t>& tokens) {
  std::string text = llm_c_header(kLlama3Magic, 7, static_cast<std::int32_t>(tokens.size()));
  for (const std::uint32_t each : tokens) append_little_endian(text, each, 4);
  return text;
}

// Bytes 0, 1, ... 250, 0, ...: a prime period, so that a place follows from few tokens.
std::string counted_bytes(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text.push_back(static_cast<char>(i % 251));
  return text;
}

std::vector<std::int32_t> tokens_of(const TokenFile& file) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(file.count()));
  file.read(0, file.count(), tokens.data());
  return tokens;
}

class TokenFiles : public ::testing::Test {
 protected:
  TokenFiles() : folder_(::testing::TempDir() + "duet-tokens-" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~TokenFiles() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/text"; }
  std::string file_of(const std::string& text) const {
    std::ofstream(path(), std::ios::binary) << text;
    return path();
  }
  // The message of a UsageError without the path at its beginning; "" if there is none.
  std::string refusal_of(const std::string& path, std::int64_t vocabulary = kGpt2Vocabulary) const {
    try {
      const TokenFile file(path, vocabulary);
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.rfind(path + ": ", 0), 0u) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      return message.substr(std::min(message.size(), path.size() + 2));
    }
    return "";
  }
  std::string refusal_of_text(const std::string& text) const { return refusal_of(file_of(text)); }
  std::string split_refusal(const TokenFile& file, double share, std::int64_t sequence) const {
    try {
      TokenSplit(file, share, sequence);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  std::string folder_;
};

TEST_F(TokenFiles, OfBytes) {
  std::string all(256, ' ');
  std::iota(all.begin(), all.end(), '\0');
  const TokenFile file(file_of(all), 256);
  std::vector<std::int32_t> expected(256);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(file.count(), 256);
  EXPECT_EQ(tokens_of(file), expected);
  std::int32_t two[2] = {};
  file.read(254, 2, two);
  EXPECT_EQ(two[0], 254);
  EXPECT_EQ(two[1], 255);
}

TEST_F(TokenFiles, OfOneByteAndOfOneToken) {
  EXPECT_EQ(tokens_of(TokenFile(file_of("a"), 256)), std::vector<std::int32_t>{'a'});
  EXPECT_EQ(tokens_of(TokenFile(file_of(llm_c_file({7})), 8)), std::vector<std::int32_t>{7});
}

TEST_F(TokenFiles, Of16BitTokens) {
  const TokenFile file(file_of(llm_c_file({0, 255, 256, 50256, 13})), kGpt2Vocabulary);
  EXPECT_EQ(file.count(), 5);
  EXPECT_EQ(tokens_of(file), (std::vector<std::int32_t>{0, 255, 256, 50256, 13}));
  std::int32_t last = 0;
  file.read(4, 1, &last);
  EXPECT_EQ(last, 13);
  const TokenFile widest(file_of(llm_c_file({65535})), 65536);
  EXPECT_EQ(tokens_of(widest), std::vector<std::int32_t>{65535});
}

TEST_F(TokenFiles, Of32BitTokens) {
  const std::string text = file_of_32_bits({0, 65536, 151935, 7});
  const TokenFile file(file_of(text), 151936);
  EXPECT_EQ(file.count(), 4);
  EXPECT_FALSE(file.of_bytes());
  EXPECT_EQ(tokens_of(file), (std::vector<std::int32_t>{0, 65536, 151935, 7}));
  EXPECT_EQ(refusal_of(path(), 151935),
            "token 151935 at position 2: expected below the vocabulary, 151935");
  EXPECT_EQ(refusal_of(file_of(file_of_32_bits({0x80000000})), 151936),
            "token 2147483648 at position 0: expected below the vocabulary, 151936");
  EXPECT_EQ(refusal_of_text(text.substr(0, text.size() - 2)),
            "states 4 tokens in its header, which 14 bytes follow: expected 4 bytes a token");
}

TEST_F(TokenFiles, RefuseRangesBeyondTheEnd) {
  const TokenFile file(file_of("abc"), 256);
  std::int32_t tokens[4] = {};
  EXPECT_NO_THROW(file.read(3, 0, tokens));
  EXPECT_THROW(file.read(0, 4, tokens), BadArgument);
  EXPECT_THROW(file.read(3, 1, tokens), BadArgument);
  EXPECT_THROW(file.read(-1, 1, tokens), BadArgument);
  EXPECT_THROW(file.read(0, -1, tokens), BadArgument);
  EXPECT_THROW(file.read(INT64_MAX, INT64_MAX, tokens), BadArgument);
}

TEST_F(TokenFiles, RefuseWhatIsNoFileOfTokens) {
  const std::string expected = "expected a file of text, or of tokens as llm.c's";
  EXPECT_EQ(refusal_of(path()), "cannot be read: No such file or directory; " + expected);
  EXPECT_EQ(refusal_of(folder_), "is a folder: " + expected);
  EXPECT_EQ(refusal_of_text(""), "is empty: " + expected);
  EXPECT_EQ(refusal_of_text(llm_c_file({})), "is empty: " + expected);
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal_of(pipe),
            "is a pipe or a device, which cannot be read at any place: " + expected);
  EXPECT_EQ(refusal_of(file_of("text"), 255),
            "a vocabulary of 255 for a file whose tokens are bytes: expected at least 256");
}

TEST_F(TokenFiles, RefuseOtherHeaders) {
  const std::string expected =
      ": expected magic 20240520, version 1 (16-bit tokens), or magic 20240801, version 7 (32-bit "
      "tokens)";
  EXPECT_EQ(refusal_of_text(llm_c_header(kGpt2Magic, 2, 0)),
            "has llm.c's header with magic 20240520, version 2" + expected);
  EXPECT_EQ(refusal_of_text(llm_c_header(kLlama3Magic, 1, 0)),
            "has llm.c's header with magic 20240801, version 1" + expected);
  EXPECT_EQ(refusal_of_text(llm_c_header(20240522, 1, 0)),
            "has llm.c's header with magic 20240522, version 1" + expected);
  EXPECT_EQ(refusal_of_text(llm_c_file({1}).substr(0, 1023)),
            "ends after 1023 bytes of llm.c's header: expected 1024");
  EXPECT_EQ(refusal_of_text(llm_c_file({1}).substr(0, 4)),
            "ends after 4 bytes of llm.c's header: expected 1024");
}

TEST_F(TokenFiles, RefuseHeadersThatStateAnotherLength) {
  const auto states = [](int tokens, int bytes) {
    return "states " + std::to_string(tokens) + " tokens in its header, which " +
           std::to_string(bytes) + " bytes follow: expected 2 bytes a token";
  };
  const std::string file = llm_c_file({1, 2, 3});
  EXPECT_EQ(refusal_of_text(file.substr(0, file.size() - 1)), states(3, 5));
  EXPECT_EQ(refusal_of_text(file + '\0'), states(3, 7));
  EXPECT_EQ(refusal_of_text(llm_c_header(kGpt2Magic, 1, 1)), states(1, 0));
  EXPECT_EQ(refusal_of_text(llm_c_header(kGpt2Magic, 1, -1)), states(-1, 0));
  EXPECT_EQ(refusal_of_text(llm_c_header(kGpt2Magic, 1, INT32_MAX)), states(INT32_MAX, 0));
}

TEST_F(TokenFiles, RefuseTokensBeyondTheVocabulary) {
  EXPECT_EQ(refusal_of_text(llm_c_file({0, 50256, 50257, 60000})),
            "token 50257 at position 2: expected below the vocabulary, 50257");
  EXPECT_EQ(refusal_of(file_of(llm_c_file({1, 0})), 1),
            "token 1 at position 0: expected below the vocabulary, 1");
  // Behind the first pieces in which a file is checked.
  std::vector<std::uint32_t> many((2 << 20) + 5, 9);
  EXPECT_EQ(refusal_of(file_of(llm_c_file(many)), 10), "");
  many.back() = 10;
  EXPECT_EQ(refusal_of(path(), 10), "");
  EXPECT_EQ(refusal_of(file_of(llm_c_file(many)), 10),
            "token 10 at position 2097156: expected below the vocabulary, 10");
}

TEST_F(TokenFiles, MayChangeWhileInUse) {
  const TokenFile file(file_of(llm_c_file({1, 2, 3})), 10);
  std::int32_t tokens[3] = {};
  file_of(llm_c_file({1, 2, 30}));
  EXPECT_NO_THROW(file.read(0, 2, tokens));
  EXPECT_THROW(file.read(0, 3, tokens), UsageError);
  file_of(llm_c_file({1}));
  EXPECT_NO_THROW(file.read(0, 1, tokens));
  EXPECT_THROW(file.read(0, 2, tokens), UsageError);
}

TEST_F(TokenFiles, MayBeLongerThan4GiB) {
  const std::int64_t size = (std::int64_t{1} << 32) + 100;
  const std::string sparse = file_of("a");
  std::filesystem::resize_file(sparse, static_cast<std::uintmax_t>(size));
  std::fstream(sparse, std::ios::in | std::ios::out | std::ios::binary).seekp(size - 1).put('z');
  const TokenFile file(sparse, 256);
  EXPECT_EQ(file.count(), size);
  std::int32_t last[2] = {};
  file.read(size - 2, 2, last);
  EXPECT_EQ(last[0], 0);
  EXPECT_EQ(last[1], 'z');
  const TokenSplit split(file, 0.5, 8);
  EXPECT_EQ(split.evaluation_tokens(), size / 2);
  const std::int64_t batches = split.evaluation_batches(1, 3);  // size / 2 - 1 is a multiple of 3
  EXPECT_EQ(split.evaluation_batch(batches - 1, 1, 3).targets.back(), 'z');
}

// Headers of random contents, and files of random lengths, are refused by one line or understood.
TEST_F(TokenFiles, SurviveRandomHeaders) {
  const std::string good = llm_c_file({1, 2, 3, 4, 5, 6, 7, 8});
  std::uint64_t drawn = 0;
  const auto below = [&drawn](std::uint64_t bound) { return random_word(11, drawn++) % bound; };
  int understood = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (std::uint64_t changes = below(4); changes > 0; --changes) {
      const std::uint64_t place = below(8) == 0 ? below(text.size()) : below(12);
      text[place] = static_cast<char>(below(2) == 0 ? below(256) : text[place] ^ 1 << below(8));
    }
    if (below(3) == 0) text.resize(below(2) == 0 ? below(16) : below(good.size() + 8));
    const bool is_tokens = text.substr(0, 4) == good.substr(0, 4);
    if (!refusal_of_text(text).empty()) {
      ++refused;
      EXPECT_TRUE(is_tokens || text.empty() || text[1] == good[1]);
      continue;
    }
    ++understood;
    const TokenFile file(path(), kGpt2Vocabulary);
    EXPECT_EQ(file.count(), is_tokens ? 8 : static_cast<std::int64_t>(text.size()));
    for (const std::int32_t token : tokens_of(file)) {
      ASSERT_GE(token, 0);
      ASSERT_LT(token, is_tokens ? kGpt2Vocabulary : 256);
    }
  }
  EXPECT_GT(understood, 500);
  EXPECT_GT(refused, 500);
}

TEST_F(TokenFiles, AreSplit) {
  const TokenFile file(file_of(counted_bytes(1000)), 256);
  EXPECT_EQ(TokenSplit(file, 0, 9).evaluation_tokens(), 0);
  EXPECT_EQ(TokenSplit(file, 0, 999).training_tokens(), 1000);
  EXPECT_EQ(TokenSplit(file, 0.1, 9).evaluation_tokens(), 100);
  EXPECT_EQ(TokenSplit(file, 0.1, 9).training_tokens(), 900);
  EXPECT_EQ(TokenSplit(file, 0.29, 9).evaluation_tokens(), 290);
  EXPECT_EQ(TokenSplit(file, 0.1, 100).evaluation_tokens(), 101);
  EXPECT_EQ(TokenSplit(file, 1e-9, 9).evaluation_tokens(), 10);
  EXPECT_EQ(TokenSplit(file, 0.99, 9).training_tokens(), 10);
}

TEST_F(TokenFiles, TooShortForASplitSayWhatIsNeeded) {
  const TokenFile file(file_of(counted_bytes(100)), 256);
  EXPECT_EQ(split_refusal(file, 0, 99), "");
  EXPECT_EQ(split_refusal(file, 0, 100),
            path() + ": 100 tokens: expected at least 101 (a sequence of 100 and one)");
  EXPECT_EQ(split_refusal(file, 0.1, 49), "");
  EXPECT_EQ(split_refusal(file, 0.1, 50),
            path() +
                ": 100 tokens, 49 for training and 51 for evaluation: expected at least 51 in "
                "each part (a sequence of 50 and one)");
  EXPECT_EQ(split_refusal(file, 0.1, 1000),
            path() +
                ": 100 tokens, 0 for training and 100 for evaluation: expected at least 1001 "
                "in each part (a sequence of 1000 and one)");
  EXPECT_NE(split_refusal(file, 0.95, 9).find("5 for training and 95 for"), std::string::npos);
  for (const double share : {-0.1, 1.0, 2.0, std::nan("")}) {
    EXPECT_NE(split_refusal(file, share, 9).find("expected from 0 to below 1"), std::string::npos);
  }
  EXPECT_THROW(TokenSplit(file, 0, 0), BadArgument);
}

bool same_batch(const TokenBatch& a, const TokenBatch& b) {
  return a.tokens == b.tokens && a.targets == b.targets;
}

TEST_F(TokenFiles, GiveTheBatchesOfASeedAndStepAgain) {
  const TokenFile file(file_of(counted_bytes(5000)), 256);
  const TokenSplit split(file, 0.1, 16);
  const TokenBatch batch = split.training_batch(3, 7, 4, 16);
  EXPECT_TRUE(same_batch(TokenSplit(file, 0.1, 16).training_batch(3, 7, 4, 16), batch));
  EXPECT_FALSE(same_batch(split.training_batch(3, 8, 4, 16), batch));
  EXPECT_FALSE(same_batch(split.training_batch(4, 7, 4, 16), batch));
  EXPECT_FALSE(same_batch(split.training_batch(7, 3, 4, 16), batch));
  // A sequence depends on its index, not on how many there are.
  const TokenBatch longer = split.training_batch(3, 7, 6, 16);
  EXPECT_TRUE(std::equal(batch.tokens.begin(), batch.tokens.end(), longer.tokens.begin()));
  std::set<std::vector<std::int32_t>> sequences;
  for (std::int64_t i = 0; i < 4; ++i) {
    sequences.insert({batch.tokens.begin() + i * 16, batch.tokens.begin() + (i + 1) * 16});
  }
  EXPECT_EQ(sequences.size(), 4u);
}

TEST_F(TokenFiles, TargetsAreTheNextTokens) {
  std::vector<std::uint32_t> counted(2000);
  std::iota(counted.begin(), counted.end(), 1000);
  const TokenFile file(file_of(llm_c_file(counted)), kGpt2Vocabulary);
  const TokenSplit split(file, 0.2, 8);
  for (const TokenBatch& batch :
       {split.training_batch(1, 1, 5, 8), split.evaluation_batch(2, 5, 8)}) {
    ASSERT_EQ(batch.tokens.size(), 40u);
    ASSERT_EQ(batch.targets.size(), 40u);
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(batch.targets[i], batch.tokens[i] + 1);
      if (i % 8 != 0) {
        EXPECT_EQ(batch.tokens[i], batch.targets[i - 1]);
      }
    }
  }
}

TEST_F(TokenFiles, KeepTheirPartsApart) {
  const TokenFile file(file_of(std::string(90, 'a') + std::string(10, 'z')), 256);
  const TokenSplit split(file, 0.1, 4);
  for (std::int64_t step = 1; step <= 500; ++step) {
    const TokenBatch batch = split.training_batch(1, step, 8, 4);
    ASSERT_EQ(std::count(batch.tokens.begin(), batch.tokens.end(), 'a'), 32) << step;
    ASSERT_EQ(std::count(batch.targets.begin(), batch.targets.end(), 'a'), 32) << step;
  }
  ASSERT_EQ(split.evaluation_batches(1, 4), 2);
  for (std::int64_t index = 0; index < 2; ++index) {
    const TokenBatch batch = split.evaluation_batch(index, 1, 4);
    EXPECT_EQ(std::count(batch.tokens.begin(), batch.tokens.end(), 'z'), 4);
    EXPECT_EQ(std::count(batch.targets.begin(), batch.targets.end(), 'z'), 4);
  }
}

TEST_F(TokenFiles, BeginTrainingSequencesAtEveryPlaceAlike) {
  const TokenFile file(file_of(counted_bytes(60)), 256);
  const TokenSplit split(file, 0.25, 5);  // 45 tokens of training: sequences begin at 0 to 39
  std::vector<int> begun(40);
  for (std::int64_t step = 1; step <= 1000; ++step) {
    const TokenBatch batch = split.training_batch(9, step, 8, 5);
    for (std::size_t i = 0; i < 8; ++i) {
      ASSERT_LT(batch.tokens[5 * i], 40);
      ++begun[static_cast<std::size_t>(batch.tokens[5 * i])];
    }
  }
  // 200 of 8000 each, of deviation 14.
  EXPECT_GT(*std::min_element(begun.begin(), begun.end()), 200 - 5 * 14);
  EXPECT_LT(*std::max_element(begun.begin(), begun.end()), 200 + 5 * 14);
}

TEST_F(TokenFiles, TrainOnTheOnlySequence) {
  const TokenFile file(file_of("abcdABCD"), 256);
  const TokenSplit split(file, 0.5, 3);
  const TokenBatch batch = split.training_batch(1, 1, 2, 3);
  EXPECT_EQ(batch.tokens, (std::vector<std::int32_t>{'a', 'b', 'c', 'a', 'b', 'c'}));
  EXPECT_EQ(batch.targets, (std::vector<std::int32_t>{'b', 'c', 'd', 'b', 'c', 'd'}));
  EXPECT_THROW(split.training_batch(1, 1, 1, 4), BadArgument);
  EXPECT_THROW(split.training_batch(1, 1, 1, 0), BadArgument);
  EXPECT_THROW(split.training_batch(1, 1, 0, 3), BadArgument);
}

TEST_F(TokenFiles, EvaluateConsecutiveSequences) {
  const TokenFile file(file_of(std::string(100, 'a') + counted_bytes(25)), 256);
  const TokenSplit split(file, 0.2, 4);
  ASSERT_EQ(split.evaluation_tokens(), 25);
  EXPECT_EQ(split.evaluation_batches(1, 4), 6);  // the last target is the last token
  EXPECT_EQ(split.evaluation_batches(2, 4), 3);
  EXPECT_EQ(split.evaluation_batches(4, 4), 1);
  EXPECT_EQ(split.evaluation_batches(1, 24), 1);
  const TokenBatch last = split.evaluation_batch(2, 2, 4);
  EXPECT_EQ(last.tokens, (std::vector<std::int32_t>{16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(last.targets.back(), 24);
  EXPECT_TRUE(same_batch(split.evaluation_batch(2, 2, 4), last));
  EXPECT_THROW(split.evaluation_batch(3, 2, 4), BadArgument);
  EXPECT_THROW(split.evaluation_batch(-1, 2, 4), BadArgument);
  EXPECT_THROW(split.evaluation_batch(0, 1, 25), BadArgument);
}

TEST_F(TokenFiles, RepeatSequencesOfAnEvaluationPartSmallerThanABatch) {
  const TokenFile file(file_of(std::string(100, 'a') + counted_bytes(10)), 256);
  const TokenSplit split(file, 0.05, 4);  // 6 tokens
  ASSERT_EQ(split.evaluation_tokens(), 6);
  EXPECT_EQ(split.evaluation_batches(3, 2), 1);
  const TokenBatch batch = split.evaluation_batch(0, 3, 2);
  EXPECT_EQ(batch.tokens, (std::vector<std::int32_t>{4, 5, 6, 7, 4, 5}));
  EXPECT_EQ(batch.targets, (std::vector<std::int32_t>{5, 6, 7, 8, 5, 6}));
}

TEST_F(TokenFiles, HaveNoEvaluationBatchesWithoutAPart) {
  const TokenFile file(file_of(counted_bytes(100)), 256);
  const TokenSplit split(file, 0, 4);
  EXPECT_EQ(split.evaluation_batches(1, 4), 0);
  EXPECT_THROW(split.evaluation_batch(0, 1, 4), BadArgument);
}

}  // namespace
}  // namespace duet
