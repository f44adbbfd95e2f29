#include <fmt/format.h>
#include <unistd.h>

#include <atomic>

#include "scenarios.h"
#include "timing/sampler.h"

namespace duet::multiprocess {
namespace {

// A work that only takes a time, which depends on the rank, and counts its calls.
class Counting : public Work {
 public:
  std::string name() const override { return "counting"; }
  Cost cost() const override { return {}; }
  void prepare(Rank&, const Placement&) override {}
  void enqueue(Rank& rank, Stream& stream) override {
    stream.run({"counting", {}, [this, index = rank.index, local = rank.local] {
                  if (local == 0) ++calls;
                  usleep(200u * static_cast<unsigned>(1 + index));
                }});
  }
  void renew(Rank&) override {}
  std::optional<Skipped> verify(Rank& rank) override {
    if (fails && rank.index == rank.size - 1) throw Mismatch("a wrong byte");
    return {};
  }
  void release(Rank&) noexcept override {}

  std::atomic<int> calls{0};
  bool fails = false;
};

std::string piece(int rank, int round) {
  return std::string(static_cast<std::size_t>(rank * 70001 + round * 13),
                     static_cast<char>('a' + rank));
}

template <typename ErrorType>
void expect(const char* text, const std::function<void()>& fn) {
  try {
    fn();
  } catch (const ErrorType& error) {
    require(std::string(error.what()).find(text) != std::string::npos, error.what());
    return;
  }
  throw Mismatch(fmt::format("no error has the text '{}'", text));
}

}  // namespace

void require(bool holds, const std::string& text) {
  if (!holds) throw Mismatch(text);
}

void barriers(Team& team) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    team.each([&](Rank& rank) {
      for (int round = 0; round < 20; ++round) {
        team.barrier("a test's barrier", 10);
        const auto all = team.gather(rank, piece(rank.index, round), "a test's gathering", 10);
        require(static_cast<int>(all->size()) == rank.size, "a gathering lacks ranks");
        for (int i = 0; i < rank.size; ++i) {
          require((*all)[static_cast<std::size_t>(i)] == piece(i, round),
                  "a gathering of other bytes");
        }
      }
    });
  }
  expect<BadArgument>("not of this process", [&] { team.device(team.size()); });
}

void fail(Team& team) {
  for (int failing = 0; failing < team.size(); ++failing) {
    expect<Mismatch>("a wrong byte", [&] {
      team.each([&](Rank& rank) {
        if (rank.index == failing) throw Mismatch("a wrong byte");
        team.barrier("a barrier that one rank never reaches", 30);
      });
    });
    expect<Unavailable>("no such thing", [&] {
      team.together([&] {
        if (team.is_local(failing)) throw Unavailable("no such thing");
      });
    });
  }
  // The failure is reported before it is thrown: ranks of the same process get it first.
  expect<Mismatch>("a wrong byte", [&] {
    team.each([&](Rank& rank) {
      if (rank.index == rank.size - 1) {
        team.fail(rank.index, "a wrong byte");
        usleep(100'000);
        throw Mismatch("a wrong byte");
      }
      team.barrier("a barrier that one rank never reaches", 30);
    });
  });
  // A slow callback delays the rank that times out: ranks that wait beside it get the failure
  // first.
  const int slow = team.on_failure([](const std::string&) { usleep(200'000); });
  expect<Timeout>("gave up after 0.2 s", [&] {
    team.each([&](Rank& rank) {
      if (rank.index > 0) team.barrier("a lonely barrier", 0.2);
    });
  });
  team.forget(slow);
  barriers(team);
}

void sample(Team& team) {
  Counting work;
  Mode mode;
  mode.seconds = 0.1;
  mode.relative_interval = 1e-6;
  mode.deadline_seconds = 20;
  const Sampling sampling = Sampler(team).measure(work, mode);
  require(sampling.verified, "not verified");
  std::string samples = fmt::format("{} {}", work.calls.load(), sampling.stopped_by);
  for (double each : sampling.samples) samples += fmt::format(" {}", each);
  require(sampling.samples.front() > 200e-6 * team.size(), "not the slowest rank's time");
  for (const std::string& each : team.processes()->gather_all(samples, "everyone's samples", 10)) {
    require(each == samples, "processes have other samples");
  }
  work.fails = true;
  expect<Mismatch>("a wrong byte", [&] { Sampler(team).measure(work, mode); });
  work.fails = false;
  require(Sampler(team).measure(work, mode).verified, "not verified after a failure");
  const bool stops = team.is_local(0);
  expect<Interrupted>("interrupted",
                      [&] { Sampler(team, [=] { return stops; }).measure(work, mode); });
}

void idle(Team& team) {
  for (int i = 0; i < 300 && team.processes()->failure().empty(); ++i) usleep(100'000);
}

void wait_at_barrier(Team& team) {
  team.each([&](Rank& rank) {
    if (rank.index == rank.size - 1) idle(team);
    team.barrier("all ranks to pass a test's barrier", 20);
  });
}

}  // namespace duet::multiprocess
