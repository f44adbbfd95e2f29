// The tuning file keeps what is stored and loses nothing else, damage is reported, and `auto` uses
// the thresholds.
#include "collectives/tuning/tuning_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "collectives/own_engines.h"
#include "core/error.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

const TuningSetup kHere{"NVIDIA H200", 4, false};
const TuningSetup kThere{"NVIDIA H200", 4, true};

Thresholds with(CollectiveKind kind, std::uint64_t bytes) {
  Thresholds thresholds;
  thresholds.set(kind, bytes);
  return thresholds;
}

class Tuned : public testing::Test {
 protected:
  Tuned()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~Tuned() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "tuning.json").string(); }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  std::size_t files() const {
    const std::filesystem::directory_iterator all(folder_), end;
    return static_cast<std::size_t>(std::distance(all, end));
  }

  std::filesystem::path folder_;
};

TEST_F(Tuned, AMissingFileHasNothing) {
  for (const std::string& name : {path(), std::string(), std::string("/dev/null/tuning.json")}) {
    const Thresholds found = TuningFile(name).thresholds(kHere);
    EXPECT_TRUE(found.all().empty()) << name;
    EXPECT_EQ(found.dma_from(CollectiveKind::gather), Thresholds::kNever) << name;
  }
}

TEST_F(Tuned, KeepsOtherSetupsAndOtherCollectives) {
  TuningFile here(path());
  TuningFile there(path());  // reads the file before `here` stores
  here.store(kHere, with(CollectiveKind::all_gather, 4096));
  there.store(kThere, with(CollectiveKind::all_gather, Thresholds::kNever));
  TuningFile(path()).store(kHere, with(CollectiveKind::gather, 0));

  const TuningFile file(path());
  const std::map<CollectiveKind, std::uint64_t> expected{{CollectiveKind::all_gather, 4096},
                                                         {CollectiveKind::gather, 0}};
  EXPECT_EQ(file.thresholds(kHere).all(), expected);
  EXPECT_EQ(file.thresholds(kThere).dma_from(CollectiveKind::all_gather), Thresholds::kNever);
  EXPECT_TRUE(file.thresholds({"NVIDIA H200", 8, false}).all().empty());
  EXPECT_TRUE(file.thresholds({"NVIDIA H100", 4, false}).all().empty());
  EXPECT_EQ(files(), 1u);
}

TEST_F(Tuned, KeepsWhatWasMeasuredBesideNccl) {
  TuningFile(path()).store(kHere, with(CollectiveKind::gather, 7),
                           {with(CollectiveKind::all_gather, 8192), {}});
  TuningFile(path()).store(kThere, with(CollectiveKind::gather, 7));
  TuningFile(path()).store(kHere, with(CollectiveKind::gather, 9),
                           {{}, {{CollectiveKind::all_reduce, 4096}}});
  TuningFile(path()).store(kHere, {},
                           {{}, {}, {{CollectiveKind::broadcast, SizeRange{4096, 65536}}}});
  const TuningFile file(path());
  ASSERT_EQ(file.entries().size(), 2u);
  const BesideNccl& found = file.entries()[0].beside_nccl;
  EXPECT_EQ(found.copies.all(), with(CollectiveKind::all_gather, 8192).all());
  EXPECT_EQ(found.packets, with(CollectiveKind::all_reduce, 4096).all());
  EXPECT_EQ(
      found.kernel,
      (std::map<CollectiveKind, SizeRange>{{CollectiveKind::broadcast, SizeRange{4096, 65536}}}));
  EXPECT_EQ(file.thresholds(kHere).all(), with(CollectiveKind::gather, 9).all());
  EXPECT_TRUE(file.entries()[1].beside_nccl.empty());
}

TEST_F(Tuned, MakesItsFolderAndFollowsALink) {
  const std::string deep = (folder_ / "a" / "b" / "tuning.json").string();
  TuningFile(deep).store(kHere, with(CollectiveKind::gather, 7));
  std::filesystem::create_symlink(deep, path());
  TuningFile(path()).store(kHere, with(CollectiveKind::gather, 8));
  EXPECT_TRUE(std::filesystem::is_symlink(path()));
  EXPECT_EQ(TuningFile(deep).thresholds(kHere).dma_from(CollectiveKind::gather), 8u);
}

TEST_F(Tuned, DamageNamesTheFileAndStays) {
  for (const char* text :
       {"", "{", "[]", "7", R"({"format": 2, "entries": []})", R"({"format": 1})",
        R"({"format": 1, "entries": {}})", R"({"format": 1, "entries": [5]})",
        R"({"format": 1, "entries": [{"device": 1}]})",
        R"({"format": 1, "entries": [{"device": "a", "ranks": 0}]})",
        R"({"format": 1, "entries": [{"device": "a", "ranks": 1e30}]})",
        R"({"format": 1, "entries": [{"device": "a", "ranks": 2, "several_processes": 0}]})",
        R"({"format": 1, "entries": [{"device": "a", "ranks": 2, "several_processes": true}]})",
        R"({"format": 1, "entries": [{"device": "a", "ranks": 2, "several_processes": true,
            "dma_from": {"all_get": 1}}]})",
        R"({"format": 1, "entries": [{"device": "a", "ranks": 2, "several_processes": true,
            "dma_from": {"gather": 1.5}}]})",
        R"({"format": 1, "entries": [{"device": "a", "ranks": 2, "several_processes": true,
            "dma_from": {}, "dma_from_beside_nccl": 5}]})",
        R"({"format": 1, "entries": [{"device": "a", "ranks": 2, "several_processes": true,
            "dma_from": {}, "packets_beside_nccl": {"all_gather": null}}]})",
        R"({"format": 1, "entries": [{"device": "a", "ranks": 2, "several_processes": true,
            "dma_from": {}, "kernel_beside_nccl": {"all_gather": {"to": 5}}}]})"}) {
    write(text);
    const std::string said = message_of<UsageError>([&] { TuningFile{path()}; });
    EXPECT_TRUE(contains(said, path()));
    EXPECT_TRUE(contains(said, "expected"));
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_THROW(TuningFile{path()}, UsageError);
}

TEST_F(Tuned, WhatCannotBeWrittenIsSaid) {
  EXPECT_THROW(TuningFile("").require_writable(), UsageError);
  EXPECT_THROW(TuningFile("/dev/null/tuning.json").require_writable(), UsageError);
}

TEST_F(Tuned, ThresholdsTravelAsText) {
  Thresholds sent = with(CollectiveKind::all_to_all, Thresholds::kNever);
  sent.set(CollectiveKind::scatter, 123);
  EXPECT_EQ(parse_thresholds(thresholds_text(sent), "text").all(), sent.all());
}

class AutoByFile : public Tuned {
 protected:
  AutoByFile() : before_(std::getenv("DUET_TUNING")) { ::setenv("DUET_TUNING", path().c_str(), 1); }
  ~AutoByFile() override {
    if (before_ == nullptr) {
      ::unsetenv("DUET_TUNING");
    } else {
      ::setenv("DUET_TUNING", kept_.c_str(), 1);
    }
  }

  // Which of the two that `auto` chooses from makes an all_gather of `bytes`.
  std::string chosen(std::uint64_t bytes) {
    const auto session = make_auto_collectives()->open(team_);
    Collective collective;
    collective.dtype = DType::int8;
    collective.count = bytes / 2;
    std::string algorithm;
    team_.each([&](Rank& rank) {
      const Buffer send = rank.device.allocate(bytes / 2), recv = rank.device.allocate(bytes);
      const auto plan = session->plan(rank, collective, {send.span(), recv.span()});
      if (rank.index == 0) algorithm = plan->algorithm();
      team_.barrier("all ranks to have planned");
    });
    for (const std::string each : {"one kernel", "direct pushes"}) {
      if (algorithm.find(each) != std::string::npos) return each;
    }
    return algorithm;
  }

  const char* before_;
  const std::string kept_ = before_ == nullptr ? "" : before_;
  std::unique_ptr<Machine> machine_ = open_machine("host:2");
  Team team_{*machine_};
  const TuningSetup setup_ = tuning_setup(*machine_, 2, false);
};

TEST_F(AutoByFile, GoesByTheFile) {
  EXPECT_EQ(chosen(4096), "one kernel");
  TuningFile(path()).store(setup_, with(CollectiveKind::all_gather, 0));
  EXPECT_EQ(chosen(4096), "direct pushes");
  TuningFile(path()).store(setup_, with(CollectiveKind::all_gather, Thresholds::kNever));
  EXPECT_EQ(chosen(64 << 20), "one kernel");
  TuningFile(path()).store(setup_, with(CollectiveKind::all_gather, 8192));
  EXPECT_EQ(chosen(8190), "one kernel");
  EXPECT_EQ(chosen(8192), "direct pushes");
}

TEST_F(AutoByFile, RefusesADamagedFile) {
  write("{");
  EXPECT_THROW(make_auto_collectives()->open(team_), UsageError);
  EXPECT_THROW(make_auto_collectives()->check_settings(team_), UsageError);
  EXPECT_NO_THROW(make_dma_collectives()->check_settings(team_));
}

}  // namespace
}  // namespace duet
