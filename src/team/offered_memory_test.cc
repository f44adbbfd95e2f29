#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"
#include "team/peer_memory.h"

namespace duet {
namespace {

// A machine whose devices note what they free.
class NotingDevice : public Device {
 public:
  NotingDevice(Device& real, std::mutex& mutex) : real_(real), mutex_(mutex) {}
  const DeviceInfo& info() const override { return real_.info(); }
  std::unique_ptr<Stream> make_stream(const StreamOptions&) override { return nullptr; }
  std::unique_ptr<Event> make_event(EventUse) override { return nullptr; }
  std::unique_ptr<PreparedKernel> prepare(const CollectiveKernel&) override { return nullptr; }
  void read(const Span&, void*) override {}
  void write(const Span&, const void*) override {}
  void signal(const Semaphore&, std::uint64_t) override {}
  std::optional<Difference> check(const Span&, const Fill&) override { return std::nullopt; }

  std::size_t live() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return live_.size();
  }

 private:
  Span acquire(std::uint64_t bytes, MemoryKind kind) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto* data = static_cast<std::byte*>(std::malloc(bytes));
    live_.insert(data);
    return {this, data, bytes, kind};
  }
  void release(const Span& span) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    live_.erase(span.data);
    std::free(span.data);
  }

  Device& real_;
  std::mutex& mutex_;
  std::set<std::byte*> live_;
};

class NotingMachine : public Machine {
 public:
  explicit NotingMachine(int devices) : real_(open_machine("host:" + std::to_string(devices))) {
    for (int i = 0; i < devices; ++i) {
      devices_.push_back(std::make_unique<NotingDevice>(real_->device(i), mutex_));
    }
  }
  const std::string& name() const override { return real_->name(); }
  int size() const override { return real_->size(); }
  Device& device(int index) override { return *devices_.at(static_cast<std::size_t>(index)); }
  Link link(int from, int to) const override { return real_->link(from, to); }
  double now() override { return real_->now(); }
  RankScheduler& scheduler() override { return real_->scheduler(); }

  // Allocations that are not freed, of each device.
  std::vector<std::size_t> live() const {
    std::vector<std::size_t> counts;
    for (const auto& device : devices_) counts.push_back(device->live());
    return counts;
  }

 private:
  std::unique_ptr<Machine> real_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<NotingDevice>> devices_;
};

using Counts = std::vector<std::size_t>;

class Offered : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  void offer(std::size_t index) {
    team_->each([&](Rank& rank) {
      all_[static_cast<std::size_t>(rank.index)].resize(index + 1);
      all_[static_cast<std::size_t>(rank.index)][index] = std::make_unique<OfferedMemory>(
          rank, [&] { return rank.device.allocate(64); }, "memory of the other ranks");
    });
  }
  void end(std::size_t rank, std::size_t index) { all_[rank][index].reset(); }
  void free_retired() {
    team_->each([](Rank& rank) { rank.team.free_retired(rank); });
  }

  NotingMachine machine_{kRanks};
  std::unique_ptr<Team> team_ = std::make_unique<Team>(machine_);
  std::vector<std::vector<std::unique_ptr<OfferedMemory>>> all_{kRanks};
};

TEST_F(Offered, MemoryIsFreedWhenAllRanksHaveEndedTheirs) {
  offer(0);
  EXPECT_EQ(machine_.live(), (Counts{1, 1, 1}));
  end(0, 0);
  end(2, 0);
  EXPECT_EQ(machine_.live(), (Counts{1, 1, 1}));  // rank 1 may still write there
  free_retired();
  EXPECT_EQ(machine_.live(), (Counts{1, 1, 1}));
  end(1, 0);
  EXPECT_EQ(machine_.live(), (Counts{1, 1, 1}));  // an end frees nothing, which may block
  free_retired();
  EXPECT_EQ(machine_.live(), (Counts{0, 0, 0}));
}

TEST_F(Offered, EachIsFreedByItself) {
  offer(0);
  offer(1);
  for (std::size_t rank = 0; rank < kRanks; ++rank) end(rank, 1);
  end(1, 0);
  free_retired();
  EXPECT_EQ(machine_.live(), (Counts{1, 1, 1}));
  for (std::size_t rank = 0; rank < kRanks; ++rank) end(rank, 0);
  free_retired();
  EXPECT_EQ(machine_.live(), (Counts{0, 0, 0}));
}

// A rank that fails on its way to an offer has made fewer than the others.
TEST_F(Offered, NumbersAreTheSameAfterARankHasFallenBehind) {
  std::vector<std::unique_ptr<OfferedMemory>> early(kRanks);
  EXPECT_THROW(team_->each([&](Rank& rank) {
    if (rank.index == 1) throw Error("on purpose");
    early[static_cast<std::size_t>(rank.index)] = std::make_unique<OfferedMemory>(
        rank, [&] { return rank.device.allocate(64); }, "memory of the other ranks");
  }),
               Error);
  offer(0);
  offer(1);
  for (std::size_t rank = 0; rank < kRanks; ++rank) end(rank, 0);
  end(0, 1);
  const Counts before = machine_.live();
  free_retired();
  const Counts after = machine_.live();
  for (std::size_t rank = 0; rank < kRanks; ++rank) EXPECT_EQ(after[rank] + 1, before[rank]);
}

TEST_F(Offered, WhatIsLeftGoesWithTheTeam) {
  offer(0);
  end(0, 0);
  end(1, 0);
  end(2, 0);
  EXPECT_EQ(machine_.live(), (Counts{1, 1, 1}));
  team_.reset();
  EXPECT_EQ(machine_.live(), (Counts{0, 0, 0}));
}

}  // namespace
}  // namespace duet
