#include "fabric/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/units.h"

namespace duet {
namespace {

constexpr double kSlowestBytesPerSecond = 100e6 / 8;
constexpr int kMaxInFlight = 256;         // per rail, receives and others each
constexpr int kCallsPerStallCheck = 256;  // reading the clock costs more than a call

}  // namespace

Traffic::Traffic(RailSet& rails, TrafficOptions options)
    : rails_(rails),
      options_(std::move(options)),
      rail_states_(static_cast<std::size_t>(rails.size())) {}

Traffic::PostQueue& Traffic::queue_for(RailState& state, const RailPost& post) {
  return post.call == RailCall::receive ? state.receives : state.others;
}

void Traffic::queue(int rail, const RailPost& post, Sender& sender, std::uint64_t token,
                    bool watched) {
  RailState& state = rail_states_[static_cast<std::size_t>(rail)];
  if (watched && state.watched++ == 0) state.moved = true;
  state.largest = std::max(state.largest, post.bytes);
  ++state.waiting;
  queue_for(state, post).data.push_back({post, &sender, token, watched, false, true});
}

void Traffic::queue_control(int rail, const RailPost& post, Sender& sender, std::uint64_t token) {
  RailState& state = rail_states_[static_cast<std::size_t>(rail)];
  ++state.waiting;
  queue_for(state, post).control.push_back({post, &sender, token, false, true, true});
}

// False where the rail does not take it.
bool Traffic::post_first(int rail, RailState& state, std::deque<PendingPost>& waiting) {
  if (state.free.empty()) {
    state.free.push_back(state.posts.size());
    state.posts.emplace_back();
  }
  const std::uint64_t id = state.free.back();
  PendingPost& pending = waiting.front();
  pending.post.id = id;
  if (!rails_.at(rail).post(pending.post)) return false;
  state.free.pop_back();
  state.posts[id] = pending;
  waiting.pop_front();
  --state.waiting;
  return true;
}

void Traffic::post_waiting(int rail, RailState& state) {
  if (state.waiting == 0) return;
  for (PostQueue* queue :
       {&state.others, &state.receives}) {  // receives are posted ahead, and can wait
    while (!queue->control.empty() && post_first(rail, state, queue->control)) {
    }
    if (!queue->control.empty()) continue;
    while (!queue->data.empty() && queue->in_flight < kMaxInFlight &&
           post_first(rail, state, queue->data)) {
      ++queue->in_flight;
    }
  }
}

void Traffic::handle_event(RailState& state, const RailEvent& event) {
  if (event.arrived) {
    if (on_arrival) on_arrival(event.immediate);
    return;
  }
  const PendingPost pending = state.posts.at(event.id);
  state.posts[event.id].used = false;
  state.free.push_back(event.id);
  if (!pending.control) --queue_for(state, pending.post).in_flight;
  if (pending.watched) --state.watched;
  state.moved = true;
  pending.sender->ended(pending.token);
}

// All of them, before the first error among them is thrown.
void Traffic::handle_events(RailState& state, const std::vector<RailEvent>& events) {
  std::string failed;
  for (const RailEvent& event : events) {
    if (!event.error.empty()) {
      if (failed.empty()) failed = event.error;
    } else {
      handle_event(state, event);
    }
  }
  if (!failed.empty()) throw Error(failed);
}

// What is in the rail's queue has come: the peer that sent it does not send it again.
void Traffic::drain(int rail) {
  std::vector<RailEvent> events;
  do {
    try {
      rails_.at(rail).poll(events);
    } catch (const Error&) {
      return;
    }
    try {
      handle_events(rail_states_[static_cast<std::size_t>(rail)], events);
    } catch (const Error&) {  // of an operation, which has not ended then
    }
  } while (!events.empty());
}

template <typename Call>
void Traffic::on_rail(int rail, Call call) {
  if (!rails_.living(rail)) return;
  try {
    call(rail_states_[static_cast<std::size_t>(rail)]);
  } catch (const Timeout&) {
    throw;
  } catch (const Error& error) {
    lose(rail, error.what(), false);
  }
}

void Traffic::post() {
  for (int rail = 0; rail < rails_.size(); ++rail) {
    on_rail(rail, [&](RailState& state) { post_waiting(rail, state); });
  }
}

bool Traffic::progress() {
  bool any = false;
  for (int rail = 0; rail < rails_.size(); ++rail) {
    on_rail(rail, [&](RailState& state) {
      post_waiting(rail, state);
      rails_.at(rail).poll(events_);
      if (events_.empty()) return;
      any = true;
      handle_events(state, events_);
      post_waiting(rail, state);
    });
  }
  if (++progress_calls_ % kCallsPerStallCheck == 0) check_stalls();
  return any;
}

void Traffic::give_up(int rail, const std::string& reason) {
  if (rails_.living(rail)) lose(rail, reason, false);
}

void Traffic::check_stalls() {
  const double now = options_.now();
  for (int rail = 0; rail < rails_.size(); ++rail) {
    RailState& state = rail_states_[static_cast<std::size_t>(rail)];
    if (std::exchange(state.moved, false)) state.moved_at = now;
    if (!rails_.living(rail) || state.watched == 0) continue;
    const double largest = static_cast<double>(state.largest);
    const double idle = now - state.moved_at;
    if (idle < options_.stall_seconds + largest / kSlowestBytesPerSecond) continue;
    lose(rail, fmt::format("nothing has ended for {:.3g} s", idle), true);
  }
}

std::string Traffic::describe(int rail, const std::string& reason) const {
  const RailState& state = rail_states_[static_cast<std::size_t>(rail)];
  std::uint64_t bytes = 0;
  int peer = -1;
  const auto add = [&](const PendingPost& pending) {
    if (!pending.used || !pending.watched) return;
    bytes += pending.post.bytes;
    peer = pending.post.peer;
  };
  for (const PendingPost& pending : state.posts) add(pending);
  for (const PostQueue* queue : {&state.receives, &state.others}) {
    for (const PendingPost& pending : queue->data) add(pending);
  }
  const std::string to = peer < 0 ? "" : " to " + options_.peer_name(peer);
  return fmt::format("rail {}{}: {} ({} in {} operations left)", rails_.name(rail), to, reason,
                     format_bytes(bytes), state.watched);
}

// Closes the rail before its posts go to other rails: late data of the lost rail must not overwrite
// memory that is in use again.
void Traffic::lose(int rail, const std::string& reason, bool stalled) {
  const std::string text = describe(rail, reason);
  drain(rail);
  RailState& state = rail_states_[static_cast<std::size_t>(rail)];
  std::vector<std::pair<Sender*, std::vector<std::uint64_t>>> unfinished;
  const auto add = [&](const PendingPost& pending) {
    if (!pending.used || !pending.watched) return;
    const auto same = [&](const auto& each) { return each.first == pending.sender; };
    auto found = std::find_if(unfinished.begin(), unfinished.end(), same);
    if (found == unfinished.end()) {
      unfinished.push_back({pending.sender, {}});
      found = unfinished.end() - 1;
    }
    found->second.push_back(pending.token);
  };
  for (const PendingPost& pending : state.posts) add(pending);
  for (const PostQueue* queue : {&state.receives, &state.others}) {
    for (const PendingPost& pending : queue->data) add(pending);
  }
  state = RailState{};
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
