// Queues, ends and stalls; see traffic.h.
#include "fabric/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/units.h"

namespace duet {
namespace {

constexpr double kSlowestBytesPerSecond = 100e6 / 8;
constexpr int kMostUnderWay = 256;   // on a rail, receives and others each
constexpr int kTurnsPerWatch = 256;  // a look at the clock is dearer than a turn

}  // namespace

Traffic::Traffic(RailSet& rails, TrafficOptions options)
    : rails_(rails), options_(std::move(options)), lanes_(static_cast<std::size_t>(rails.size())) {}

Traffic::Queue& Traffic::queue_of(Lane& lane, const RailPost& post) {
  return post.call == RailCall::receive ? lane.receives : lane.others;
}

void Traffic::queue(int rail, const RailPost& post, Sender& sender, std::uint64_t token,
                    bool watched) {
  Lane& lane = lanes_[static_cast<std::size_t>(rail)];
  if (watched && lane.watched++ == 0) lane.moved = true;
  lane.largest = std::max(lane.largest, post.bytes);
  ++lane.waiting;
  queue_of(lane, post).data.push_back({post, &sender, token, watched, false, true});
}

void Traffic::queue_word(int rail, const RailPost& post, Sender& sender, std::uint64_t token) {
  Lane& lane = lanes_[static_cast<std::size_t>(rail)];
  ++lane.waiting;
  queue_of(lane, post).words.push_back({post, &sender, token, false, true, true});
}

// False where the rail does not take it.
bool Traffic::post_first(int rail, Lane& lane, std::deque<Flight>& waiting) {
  if (lane.free.empty()) {
    lane.free.push_back(lane.flights.size());
    lane.flights.emplace_back();
  }
  const std::uint64_t id = lane.free.back();
  Flight& flight = waiting.front();
  flight.post.id = id;
  if (!rails_.at(rail).post(flight.post)) return false;
  lane.free.pop_back();
  lane.flights[id] = flight;
  waiting.pop_front();
  --lane.waiting;
  return true;
}

void Traffic::post_waiting(int rail, Lane& lane) {
  if (lane.waiting == 0) return;
  for (Queue* queue : {&lane.others, &lane.receives}) {  // receives are posted ahead, and can wait
    while (!queue->words.empty() && post_first(rail, lane, queue->words)) {
    }
    if (!queue->words.empty()) continue;
    while (!queue->data.empty() && queue->under_way < kMostUnderWay &&
           post_first(rail, lane, queue->data)) {
      ++queue->under_way;
    }
  }
}

void Traffic::take(Lane& lane, const RailEvent& event) {
  if (event.arrived) {
    if (on_arrival) on_arrival(event.immediate);
    return;
  }
  if (!event.error.empty()) throw Error(event.error);
  const Flight flight = lane.flights.at(event.id);
  lane.flights[event.id].used = false;
  lane.free.push_back(event.id);
  if (!flight.word) --queue_of(lane, flight.post).under_way;
  if (flight.watched) --lane.watched;
  lane.moved = true;
  flight.sender->ended(flight.token);
}

template <typename Call>
void Traffic::on_rail(int rail, Call call) {
  if (!rails_.living(rail)) return;
  try {
    call(lanes_[static_cast<std::size_t>(rail)]);
  } catch (const Timeout&) {
    throw;
  } catch (const Error& error) {
    lose(rail, error.what(), false);
  }
}

void Traffic::post() {
  for (int rail = 0; rail < rails_.size(); ++rail) {
    on_rail(rail, [&](Lane& lane) { post_waiting(rail, lane); });
  }
}

bool Traffic::turn() {
  bool any = false;
  for (int rail = 0; rail < rails_.size(); ++rail) {
    on_rail(rail, [&](Lane& lane) {
      post_waiting(rail, lane);
      rails_.at(rail).poll(events_);
      if (events_.empty()) return;
      any = true;
      for (const RailEvent& event : events_) take(lane, event);
      post_waiting(rail, lane);
    });
  }
  if (++turns_ % kTurnsPerWatch == 0) watch();
  return any;
}

void Traffic::watch() {
  const double now = options_.now();
  for (int rail = 0; rail < rails_.size(); ++rail) {
    Lane& lane = lanes_[static_cast<std::size_t>(rail)];
    if (std::exchange(lane.moved, false)) lane.progress = now;
    if (!rails_.living(rail) || lane.watched == 0) continue;
    const double largest = static_cast<double>(lane.largest);
    const double idle = now - lane.progress;
    if (idle < options_.stall_seconds + largest / kSlowestBytesPerSecond) continue;
    lose(rail, fmt::format("nothing has ended for {:.3g} s", idle), true);
  }
}

std::string Traffic::describe(int rail, const std::string& reason) const {
  const Lane& lane = lanes_[static_cast<std::size_t>(rail)];
  std::uint64_t bytes = 0;
  int peer = -1;
  const auto add = [&](const Flight& flight) {
    if (!flight.used || !flight.watched) return;
    bytes += flight.post.bytes;
    peer = flight.post.peer;
  };
  for (const Flight& flight : lane.flights) add(flight);
  for (const Queue* queue : {&lane.receives, &lane.others}) {
    for (const Flight& flight : queue->data) add(flight);
  }
  const std::string to = peer < 0 ? "" : " to " + options_.peer_name(peer);
  return fmt::format("rail {}{}: {} ({} in {} operations left)", rails_.name(rail), to, reason,
                     format_bytes(bytes), lane.watched);
}

// Closed first: what is posted on other rails must not come twice into memory that is used anew.
void Traffic::lose(int rail, const std::string& reason, bool stalled) {
  const std::string text = describe(rail, reason);
  Lane& lane = lanes_[static_cast<std::size_t>(rail)];
  std::vector<std::pair<Sender*, std::vector<std::uint64_t>>> unfinished;
  const auto add = [&](const Flight& flight) {
    if (!flight.used || !flight.watched) return;
    const auto same = [&](const auto& each) { return each.first == flight.sender; };
    auto found = std::find_if(unfinished.begin(), unfinished.end(), same);
    if (found == unfinished.end()) {
      unfinished.push_back({flight.sender, {}});
      found = unfinished.end() - 1;
    }
    found->second.push_back(flight.token);
  };
  for (const Flight& flight : lane.flights) add(flight);
  for (const Queue* queue : {&lane.receives, &lane.others}) {
    for (const Flight& flight : queue->data) add(flight);
  }
  lane = Lane{};
  rails_.lose(rail);
  losses_.emplace(rail, text);
  const bool others = options_.failover && !rails_.all_living().empty();
  bool saved = others;
  for (const auto& [sender, tokens] : unfinished) saved = saved && sender->lost(rail, tokens);
  if (saved) return;
  const std::string why = others ? text + "; what it carried cannot go over other rails" : text;
  if (stalled) throw Timeout(why);
  throw Error(why);
}

}  // namespace duet
