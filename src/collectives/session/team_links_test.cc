// Processes that see different links: all use the same TeamLinks, or all throw.
#include "collectives/session/team_links.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "core/error.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

// A machine that presents the devices of another machine under a different kind.
class Renamed : public Machine {
 public:
  explicit Renamed(const std::string& device) : real_(open_machine(device)), shown_(*real_) {}
  const std::string& name() const override { return real_->name(); }
  int size() const override { return 1; }
  Device& device(int) override { return shown_; }
  Link link(int from, int to) const override { return real_->link(from, to); }
  double now() override { return real_->now(); }
  RankScheduler& scheduler() override { return real_->scheduler(); }

 private:
  class Shown : public Device {
   public:
    explicit Shown(Machine& machine) : real_(machine.device(0)), info_(real_.info()) {
      info_.kind = "abacus";
    }
    const DeviceInfo& info() const override { return info_; }
    std::unique_ptr<Stream> make_stream(const StreamOptions& options) override {
      return real_.make_stream(options);
    }
    std::unique_ptr<Event> make_event(EventUse use) override { return real_.make_event(use); }
    std::unique_ptr<PreparedKernel> prepare(const CollectiveKernel& kernel) override {
      return real_.prepare(kernel);
    }
    void read(const Span& from, void* to) override { real_.read(from, to); }
    void write(const Span& to, const void* from) override { real_.write(to, from); }
    void signal(const Semaphore& semaphore, std::uint64_t value) override {
      real_.signal(semaphore, value);
    }
    std::optional<Difference> check(const Span& span, const Fill& fill) override {
      return real_.check(span, fill);
    }

   private:
    Span acquire(std::uint64_t, MemoryKind) override { throw OutOfMemory("an abacus has none"); }
    void release(const Span&) noexcept override {}

    Device& real_;
    DeviceInfo info_;
  };

  std::unique_ptr<Machine> real_;
  Shown shown_;
};

void run_two(const std::function<void(Processes&)>& fn) {
  const int port = Socket::listen(0).port();
  std::vector<std::thread> threads;
  for (int index = 0; index < 2; ++index) {
    threads.emplace_back([=, &fn] {
      Launch launch;
      launch.index = index;
      launch.size = 2;
      launch.addresses = {"127.0.0.1"};
      launch.port = port;
      Processes processes(launch, 20);
      fn(processes);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A process with one device assumes that it is behind a switch. A process with two devices of a CPU
// sees a link for each.
TEST(TeamLinks, AreThoseOfAllProcesses) {
  TeamLinks links[2];
  run_two([&](Processes& processes) {
    const auto machine = open_machine(processes.index() == 0 ? "host:2" : "host");
    Team team(*machine, {}, &processes);
    links[processes.index()] = team_links(team, team.size());
  });
  EXPECT_TRUE(links[0].copying.in_order);
  EXPECT_TRUE(links[1].copying.in_order);
  EXPECT_EQ(links[0].copying.count, 2);
  EXPECT_EQ(links[1].copying.count, 2);
}

TEST(TeamLinks, OfEqualProcessesAreTheirOwn) {
  run_two([&](Processes& processes) {
    const auto machine = open_machine("host:2");
    Team team(*machine, {}, &processes);
    const TeamLinks links = team_links(team, team.size());
    EXPECT_EQ(links.copying.in_order, machine->link(0, 1).shared);
    EXPECT_EQ(links.copying.count, 3);
  });
}

TEST(TeamLinks, OfDifferentKindsAreRefusedByAll) {
  run_two([&](Processes& processes) {
    std::unique_ptr<Machine> machine = open_machine("host");
    if (processes.index() == 1) machine = std::make_unique<Renamed>("host");
    Team team(*machine, {}, &processes);
    EXPECT_EQ(message_of<Unavailable>([&] { team_links(team, team.size()); }),
              "expected devices of one kind in all processes: process 0 has host, process 1 "
              "has abacus");
  });
}

}  // namespace
}  // namespace duet
