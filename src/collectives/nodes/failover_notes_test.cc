// What two ends tell each other about lost rails, while further rails are lost: on rails in memory,
// whose writes a test moves, each in two parts and in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>

#include "collectives/nodes/failover.h"
#include "core/error.h"
#include "fabric/rail_fixture.h"

namespace duet {
namespace {

constexpr int kEnds = 2, kRails = 6;

// A write on its way from one end of a rail to the other.
struct MovingWrite {
  RailPost post;
  std::vector<std::byte> source;  // as it was posted
  std::size_t moved = 0;          // bytes, of the end or of what is before the cut
  std::size_t cut = 0;
  bool end_first = false;
  bool detached = false;  // its rail is closed where it was posted
};

class MemoryRail;

// Both ends of one rail. An end that is closed takes and gives nothing any more; the other one gets
// an error for what does not arrive.
struct MemoryCable {
  MemoryRail* ends[kEnds] = {};
  std::deque<MovingWrite> moving[kEnds];  // by the end that posted
  std::deque<RailEvent> events[kEnds];
  bool breaks[kEnds] = {};  // the next poll() throws
};

class MemoryRail : public AddressRail {
 public:
  MemoryRail(MemoryCable& cable, int end, std::mt19937& random)
      : cable_(cable), end_(end), random_(random) {
    cable_.ends[end_] = this;
  }
  // What it had under way is still on its way, or it never arrives.
  ~MemoryRail() override {
    cable_.ends[end_] = nullptr;
    std::deque<MovingWrite>& moving = cable_.moving[end_];
    for (MovingWrite& write : moving) write.detached = true;
    const auto never = [&](const MovingWrite&) { return random_() % 2 == 0; };
    moving.erase(std::remove_if(moving.begin(), moving.end(), never), moving.end());
    if (!cable_.moving[1 - end_].empty()) cable_.breaks[1 - end_] = true;
    cable_.moving[1 - end_].clear();
    cable_.events[end_].clear();
  }

  bool post(const RailPost& post) override {
    if (cable_.ends[1 - end_] == nullptr) cable_.breaks[end_] = true;
    cable_.moving[end_].push_back({post, {post.data, post.data + post.bytes}});
    return true;
  }
  void poll(std::vector<RailEvent>& events) override {
    events.clear();
    if (std::exchange(cable_.breaks[end_], false)) throw Error("broken on purpose");
    events.assign(cable_.events[end_].begin(), cable_.events[end_].end());
    cable_.events[end_].clear();
  }

 private:
  MemoryCable& cable_;
  int end_;
  std::mt19937& random_;
};

// Whether a write has come, by its immediate value alone.
bool is_there(std::uint32_t immediate) { return immediate * 2654435761u >> 31 != 0; }

// By immediate value: the rail that has lost the write.
using AskedWrites = std::map<std::uint32_t, int>;

struct TwoEnds {
  explicit TwoEnds(unsigned seed) : random(seed) {
    TrafficOptions options;
    options.failover = true;
    options.now = [] { return 0.0; };
    options.peer_name = [](int node) { return "node " + std::to_string(node); };
    std::vector<std::string> memory;
    for (int end = 0; end < kEnds; ++end) {
      std::vector<std::unique_ptr<Rail>> rails;
      std::vector<std::string> names;
      for (int rail = 0; rail < kRails; ++rail) {
        rails.push_back(std::make_unique<MemoryRail>(cables[rail], end, random));
        names.push_back("w" + std::to_string(rail));
      }
      End& made = ends[end];
      made.rails = std::make_unique<RailSet>(std::move(rails), std::move(names));
      made.traffic = std::make_unique<Traffic>(*made.rails, options);
      made.failover = std::make_unique<Failover>(*made.rails, *made.traffic, end, kEnds);
      made.failover->has_come = [this, end](std::uint32_t immediate) {
        const auto found = asked_by[1 - end].find(immediate);
        EXPECT_NE(found, asked_by[1 - end].end()) << "an answer to what was never asked";
        if (found != asked_by[1 - end].end()) {
          EXPECT_EQ(cables[found->second].ends[end], nullptr) << "the write may still come";
        }
        return is_there(immediate);
      };
      made.failover->peer_name = options.peer_name;
      made.traffic->on_arrival = [&made](std::uint32_t value) {
        made.failover->arrived(Note::of(value));
      };
      memory.push_back(made.failover->descriptors());
    }
    for (End& end : ends) end.failover->import_all(memory);
  }

  void step(int end) {
    ends[end].traffic->progress();
    ends[end].failover->progress();
  }

  // A part of a write, or the rest of it; what has been moved ends at both ends, the poster's
  // perhaps later.
  void move(int end) {
    std::vector<int> busy;
    for (int rail = 0; rail < kRails; ++rail) {
      if (!cables[rail].moving[end].empty()) busy.push_back(rail);
    }
    if (busy.empty()) return;
    MemoryCable& cable = cables[busy[random() % busy.size()]];
    if (cable.ends[1 - end] == nullptr) return;
    std::deque<MovingWrite>& moving = cable.moving[end];
    const auto found = moving.begin() + static_cast<std::ptrdiff_t>(random() % moving.size());
    move_part(*found);
    if (found->moved < found->post.bytes) return;
    cable.events[1 - end].push_back({true, 0, found->post.immediate, ""});
    if (!found->detached) ends[end].unheard.push_back({&cable, {false, found->post.id, 0, ""}});
    moving.erase(found);
  }

  void move_part(MovingWrite& write) {
    const std::byte* from = write.detached ? write.source.data() : write.post.data;
    if (!write.detached) {
      EXPECT_EQ(std::memcmp(write.post.data, write.source.data(), write.source.size()), 0)
          << "a write has changed while it was under way";
    }
    const std::size_t bytes = write.post.bytes;
    std::byte* const to =
        reinterpret_cast<std::byte*>(write.post.remote.base) + write.post.remote_offset;
    if (write.moved == 0) {
      write.cut = 1 + random() % std::min<std::size_t>(24, bytes - 1);
      write.end_first = random() % 2 == 0;
    }
    const bool end = (write.moved == 0) == write.end_first;
    const std::size_t begin = end ? write.cut : 0, count = end ? bytes - write.cut : write.cut;
    std::memcpy(to + begin, from + begin, count);
    write.moved += count;
  }

  // That of a write at the end that posted it.
  void hear(int end) {
    auto& unheard = ends[end].unheard;
    if (unheard.empty()) return;
    const auto [cable, event] = unheard.front();
    unheard.pop_front();
    if (cable->ends[end] != nullptr) cable->events[end].push_back(event);
  }

  // Of a write on a rail that this end has lost.
  void ask(int end) {
    const int rail = static_cast<int>(random() % kRails);
    if (ends[end].rails->living(rail)) return;
    const auto immediate = static_cast<std::uint32_t>(random() % (1u << 31));
    asked_by[end][immediate] = rail;
    ++asked;
    ends[end].failover->ask(1 - end, {immediate, [this, immediate](bool arrived) {
                                        EXPECT_EQ(arrived, is_there(immediate));
                                        ++resolved;
                                      }});
  }

  // At one end, unless it is the last.
  void lose_a_rail(int end) {
    const std::vector<int> living = ends[end].rails->all_living();
    int common = 0;
    for (MemoryCable& cable : cables) {
      common += cable.ends[0] != nullptr && cable.ends[1] != nullptr && !cable.breaks[0] &&
                !cable.breaks[1];
    }
    if (common > 1) cables[living[random() % living.size()]].breaks[end] = true;
  }

  struct End {
    std::unique_ptr<RailSet> rails;
    std::unique_ptr<Traffic> traffic;
    std::unique_ptr<Failover> failover;
    std::deque<std::pair<MemoryCable*, RailEvent>> unheard;
  };

  std::mt19937 random;
  MemoryCable cables[kRails];
  End ends[kEnds];
  AskedWrites asked_by[kEnds];
  int asked = 0, resolved = 0;
};

TEST(FailoverNotes, EveryWriteIsResolvedThoughFurtherRailsAreLost) {
  int asked = 0;
  for (unsigned seed = 5000; seed < 8000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    TwoEnds two(seed);
    const unsigned steps[kEnds] = {1 + seed % 4 * 3, 1 + seed / 4 % 4 * 3};  // of 32
    const auto act = [&] {
      const int end = static_cast<int>(two.random() % kEnds);
      const auto what = two.random() % 32;
      if (what < steps[end]) return two.step(end);
      if (what < 28) return two.move(end);
      two.hear(end);
    };
    two.lose_a_rail(0);
    two.step(0);
    for (int i = 0; i < 600; ++i) {
      act();
      if (two.random() % 60 == 0) two.lose_a_rail(static_cast<int>(two.random() % kEnds));
      if (two.random() % 4 == 0) two.ask(static_cast<int>(two.random() % kEnds));
    }
    for (int i = 0; i < 20000 && two.resolved < two.asked; ++i) act();
    EXPECT_EQ(two.resolved, two.asked);
    asked += two.asked;
  }
  EXPECT_GT(asked, 10000);
}

}  // namespace
}  // namespace duet
