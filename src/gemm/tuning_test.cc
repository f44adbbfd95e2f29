// The tuning cache: stored choices are found again, also by another process; files that are no
// caches stay as they are.
#include "gemm/tuning.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"

namespace duet {
namespace {

class TuningCacheFile : public testing::Test {
 protected:
  TuningCacheFile()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~TuningCacheFile() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "tuning.json").string(); }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::filesystem::path folder_;
};

const TunedChoice kChoice{{0x00, 0x7f, 0xff, 0x10}, 33554432, "tile 20"};

// As ranks of one process that tune at the same time.
TEST(TuningCache, IsUsedByThreadsAtOnce) {
  constexpr int kThreads = 4, kChoices = 2000;
  TuningCache cache;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&cache, thread] {
      for (int i = 0; i < kChoices; ++i) {
        const std::string key = std::to_string(i * kThreads + thread);
        cache.store(key, kChoice);
        EXPECT_TRUE(cache.find(key));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (int i = 0; i < kThreads * kChoices; ++i) EXPECT_TRUE(cache.find(std::to_string(i))) << i;
}

TEST_F(TuningCacheFile, RoundTrip) {
  {
    TuningCache cache(path());
    EXPECT_FALSE(cache.find("key"));
    cache.store("key", kChoice);
    cache.store("choice", {{}, 0, "fused"});
  }
  const TuningCache cache(path());
  const auto found = cache.find("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->algorithm, kChoice.algorithm);
  EXPECT_EQ(found->workspace_bytes, kChoice.workspace_bytes);
  EXPECT_EQ(found->description, kChoice.description);
  ASSERT_TRUE(cache.find("choice"));
  EXPECT_EQ(cache.find("choice")->description, "fused");
  EXPECT_FALSE(cache.find("another key"));
  for (const auto& each : std::filesystem::directory_iterator(::testing::TempDir())) {
    EXPECT_NE(each.path().extension(), ".part") << each.path();
  }
}

TEST_F(TuningCacheFile, WhatIsNoneIsRefusedAndStays) {
  for (
      const char* text :
      {"{", "[]", R"({"format": 2, "entries": {}})", R"({"format": 1})", "somebody's notes",
       R"({"format": 1, "entries": {"key": {"algorithm": "0g", "workspace_bytes": 0, "description": ""}}})",
       R"({"format": 1, "entries": {"key": {"algorithm": 7}}})"}) {
    write(text);
    EXPECT_THROW(TuningCache{path()}, UsageError) << text;
    EXPECT_THROW(set_tuning_cache(path()), UsageError) << text;
    EXPECT_EQ(this->text(), text);
  }
  EXPECT_THROW(set_tuning_cache("/dev/null"), UsageError);
  EXPECT_THROW(set_tuning_cache(folder_.string()), UsageError);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(TuningCacheFile, AnEmptyFileIsOneWithoutChoices) {
  write("");
  TuningCache(path()).store("key", kChoice);
  EXPECT_TRUE(TuningCache(path()).find("key"));
}

// As of two runs that have one file.
TEST_F(TuningCacheFile, ChoicesOfAnotherProcessStay) {
  TuningCache one(path()), other(path());
  one.store("one", kChoice);
  other.store("other", kChoice);
  EXPECT_TRUE(TuningCache(path()).find("one"));
  EXPECT_TRUE(TuningCache(path()).find("other"));
}

TEST_F(TuningCacheFile, AFileThatIsReplacedMeanwhileIsNotOverwritten) {
  TuningCache cache(path());
  write("somebody's notes");
  EXPECT_THROW(cache.store("key", kChoice), Error);
  EXPECT_EQ(text(), "somebody's notes");
}

TEST_F(TuningCacheFile, AFileThatCannotBeWrittenIsAnError) {
  TuningCache cache((folder_ / "no such folder" / "tuning.json").string());
  EXPECT_THROW(cache.store("key", kChoice), Error);
}

TEST(TuningCache, WithoutAFileItKeepsChoicesInMemory) {
  TuningCache cache;
  cache.store("key", kChoice);
  EXPECT_TRUE(cache.find("key"));
}

TEST(TuningKey, TellsApartWhatChangesTheChoice) {
  const TuningKey key{"NVIDIA H200", "cuBLASLt 130100", "cublaslt-tuned"};
  const GemmProblem p{1, 2, 3, DType::bf16, DType::bf16, Layout::nn};
  GemmProblem other = p;
  other.layout = Layout::nt;
  EXPECT_NE(tuning_key(key, p), tuning_key(key, other));
  other = p;
  other.output = DType::fp32;
  EXPECT_NE(tuning_key(key, p), tuning_key(key, other));
  other = p;
  other.alignment = 16;
  EXPECT_NE(tuning_key(key, p), tuning_key(key, other));
  EXPECT_NE(tuning_key(key, p), tuning_key({"NVIDIA H100", key.library, key.engine}, p));
}

}  // namespace
}  // namespace duet
