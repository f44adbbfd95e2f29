#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/session/calls_fixture.h"
#include "communicator/communicator.h"
#include "runtime/overlap.h"

namespace duet {

constexpr double kOverlapDeadline = 30;

// The works of Overlap's tests, an all-gather and copies on the compute units, with their buffers.
// Contents are different for every round and rank. Made by all ranks.
class TwoWorks {
 public:
  TwoWorks(LocalRank& rank, std::uint64_t count)
      : rank_(rank),
        count_(count),
        source_(rank.device().allocate(count * 4)),
        send_(rank.allocate(count * 4)),
        gathered_(rank.allocate(size() * count * 4)),
        input_(rank.device().allocate(count * 4)),
        output_(rank.device().allocate(count * 4)),
        seen_(rank.device().allocate((size() + 1) * count * 4)) {
    Collective all_gather;
    all_gather.kind = CollectiveKind::all_gather;
    all_gather.dtype = DType::int32;
    all_gather.count = count;
    call_ = rank.plan(all_gather, send_->span(), gathered_->span());
  }
  TwoWorks(const TwoWorks&) = delete;
  TwoWorks& operator=(const TwoWorks&) = delete;

  CollectiveCall& call() { return call_; }

  void compute(Stream& stream) const {
    stream.copy({output_.span(), input_.span(), Executor::kernel, {}});
  }
  // Later work of the stream, which must see both results.
  void consume(Stream& stream) const {
    const std::uint64_t bytes = size() * count_ * 4;
    stream.copy({seen_.slice(0, bytes), gathered_->span(), Executor::kernel, {}});
    stream.copy({seen_.slice(bytes, count_ * 4), output_.span(), Executor::kernel, {}});
  }

  void fill(int round) { fill(round, send_->span()); }
  // The send buffer is filled by work of the stream, which the collective must wait for.
  void fill(int round, Stream& stream) {
    put(send_->span(), -1);
    fill(round, source_.span());
    stream.copy({send_->span(), source_.span(), Executor::kernel, {}});
  }
  void expect_seen(int round) {
    std::vector<std::int32_t> expected, found((size() + 1) * count_);
    for (int from = 0; from < rank_.size(); ++from) {
      expected.insert(expected.end(), count_, 1000 * round + from);
    }
    expected.insert(expected.end(), count_, 1000 * round + 500 + rank_.index());
    rank_.device().read(seen_.span(), found.data());
    EXPECT_EQ(found, expected) << "round " << round;
    rank_.barrier("all ranks to have looked", kOverlapDeadline);
  }
  void retire() { rank_.retire(std::move(call_)); }

 private:
  std::uint64_t size() const { return static_cast<std::uint64_t>(rank_.size()); }
  void fill(int round, const Span& sent) {
    put(sent, 1000 * round + rank_.index());
    put(input_.span(), 1000 * round + 500 + rank_.index());
    rank_.barrier("all ranks to have filled their buffers", kOverlapDeadline);
  }
  void put(const Span& span, std::int32_t value) {
    const std::vector<std::int32_t> values(count_, value);
    rank_.device().write(span, values.data());
  }

  LocalRank& rank_;
  std::uint64_t count_;
  Buffer source_;
  std::unique_ptr<CollectiveMemory> send_, gathered_;
  Buffer input_, output_, seen_;
  CollectiveCall call_;
};

// The parameter is a value of CommunicatorOptions::device.
class OverlapTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override try {
    communicator_.emplace(CommunicatorOptions{GetParam(), "dma"});
  } catch (const Unavailable& reason) {
    GTEST_SKIP() << "--device cuda: " << reason.what();
  }

  std::optional<Communicator> communicator_;
};

}  // namespace duet
