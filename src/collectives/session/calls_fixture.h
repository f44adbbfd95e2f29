// For tests of plans: a rank makes several calls in a row, each with its own contents, and checks
// the result of each.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collectives/engine.h"
#include "core/label_fixture.h"
#include "core/random.h"
#include "device/graph.h"

namespace duet {

// The machines of a test suite. With DUET_TEST_GPUS set, the GPUs that it names (cuda, hip) in
// their place.
inline auto machines_of(std::vector<const char*> machines) {
  if (const char* gpus = std::getenv("DUET_TEST_GPUS")) machines = {gpus};
  return ::testing::ValuesIn(machines);
}

using MakePlan = std::function<std::unique_ptr<CollectivePlan>(Rank&, const Collective&,
                                                               const CollectiveBuffers&)>;

inline MakePlan plans_of(CollectiveSession& session) {
  return [&session](Rank& rank, const Collective& collective, const CollectiveBuffers& buffers) {
    return session.plan(rank, collective, buffers);
  };
}

// Element type: int32 for reductions, otherwise int8 (bytes).
inline Collective collective_of(CollectiveKind kind, std::uint64_t count, int root = 0) {
  Collective c;
  c.kind = kind;
  c.dtype = reduces(kind) ? DType::int32 : DType::int8;
  c.count = count;
  c.root = root;
  return c;
}

// In place: all_to_all and broadcast.
class Calls {
 public:
  Calls(Rank& rank, const MakePlan& make, const Collective& collective, std::size_t rounds,
        bool in_place = false)
      : rank_(rank), collective_(collective), rounds_(rounds) {
    recv_ = rank.device.allocate(recv_bytes(collective, rank.index, rank.size));
    log_ = rank.device.allocate(rounds * recv_.bytes());
    if (!in_place) send_ = rank.device.allocate(send_bytes(collective, rank.index, rank.size));
    from_ = in_place ? recv_.span() : send_.span();
    plan_ = make(rank, collective, {from_, recv_.span()});
  }

  const CollectivePlan& plan() const { return *plan_; }

  // `captured`: makes the call by launching a graph that contains this call alone.
  void enqueue(std::size_t round, bool captured = false) {
    if (captured && graph_ == nullptr) {
      graph_ = capture(*stream_, [&] { plan_->enqueue(*stream_); });
    }
    if (from_.bytes > 0) stream_->fill(from_, sent(rank_.index, round, 0));
    if (captured) {
      graph_->launch(*stream_);
    } else {
      plan_->enqueue(*stream_);
    }
    const Span kept = log_.slice(round * recv_.bytes(), recv_.bytes());
    if (kept.bytes > 0) stream_->copy({kept, recv_.span(), Executor::dma, {}});
  }

  void delay(std::uint64_t microseconds) {
    stream_->run({"delay", {}, [microseconds] {
                    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
                  }});
  }

  void wait() const {
    constexpr double kDeadline = 60;  // seconds
    stream_->synchronize(kDeadline);
  }

  void check() const {
    wait();
    for (std::size_t round = 0; round < rounds_; ++round) {
      reduces(collective_.kind) ? check_reduced(round) : check_moved(round);
    }
  }

 private:
  Fill sent(int rank, std::size_t round, std::uint64_t offset) const {
    Fill fill{FillKind::pattern, 1000 * round + static_cast<std::uint64_t>(rank), offset};
    if (!reduces(collective_.kind)) return fill;
    fill.kind = FillKind::digits;
    fill.dtype = collective_.dtype;
    fill.ranks = rank_.size;
    return fill;
  }

  void check_moved(std::size_t round) const {
    for (const Move& move : moves(collective_, rank_.size)) {
      if (move.to != rank_.index) continue;
      const Span got = log_.slice(round * recv_.bytes() + move.to_offset, move.bytes);
      const Fill expected = sent(move.from, round, move.from_offset);
      ASSERT_FALSE(rank_.device.check(got, expected).has_value())
          << name(collective_.kind) << ", round " << round << " from rank " << move.from;
    }
  }

  void check_reduced(std::size_t round) const {
    const bool scattered = collective_.kind == CollectiveKind::reduce_scatter;
    Fill expected = sent(0, round, 0);
    expected.kind = FillKind::digits_reduced;
    if (scattered) expected.offset = recv_.bytes() * static_cast<std::uint64_t>(rank_.index);
    const Span got = log_.slice(round * recv_.bytes(), recv_.bytes());
    const auto difference = rank_.device.check(got, expected);
    ASSERT_FALSE(difference.has_value())
        << name(collective_.kind) << ", round " << round << " from " << difference->first_offset;
  }

  Rank& rank_;
  Collective collective_;
  std::size_t rounds_;
  Buffer send_, recv_, log_;
  Span from_;
  std::unique_ptr<Stream> stream_ = rank_.device.make_stream();
  std::unique_ptr<CollectivePlan> plan_;
  std::unique_ptr<Graph> graph_;
};

struct Rounds {
  std::size_t count = 1;
  bool in_place = false;
  std::uint64_t longest_delay = 0;  // upper limit of random delays of a rank, in microseconds
  std::size_t captured = 0;         // every captured-th call is a graph launch; 0: none
};

// Makes and checks the calls on all ranks.
inline void run_calls(Team& team, const MakePlan& make, const Collective& collective,
                      const Rounds& rounds) {
  team.each([&](Rank& rank) {
    Calls calls(rank, make, collective, rounds.count, rounds.in_place);
    for (std::size_t round = 0; round < rounds.count; ++round) {
      const std::uint64_t dice = random_word(static_cast<std::uint64_t>(rank.index), round);
      if (rounds.longest_delay > 0) calls.delay(dice % rounds.longest_delay);
      calls.enqueue(round, rounds.captured > 0 && round % rounds.captured == 1);
    }
    calls.check();
    team.barrier("all ranks to have checked");
  });
}

// Calls of two plans beside each other, not in the same order on all ranks.
inline void run_beside(Team& team, const MakePlan& first, const Collective& of_first,
                       const MakePlan& second, const Collective& of_second, std::size_t rounds,
                       bool in_place = false) {
  team.each([&](Rank& rank) {
    Calls one(rank, first, of_first, rounds, in_place);
    Calls other(rank, second, of_second, rounds, in_place);
    for (std::size_t round = 0; round < rounds; ++round) {
      (rank.index % 2 == 0 ? one : other).enqueue(round);
      (rank.index % 2 == 0 ? other : one).enqueue(round);
    }
    one.check();
    other.check();
    team.barrier("all ranks to have checked");
  });
}

}  // namespace duet
