// What all detours share; see detour_rail.h.
#include "fabric/detour/detour_rail.h"

#include "core/error.h"

namespace duet {
namespace {

constexpr std::uint64_t kPassed = 1ull << 61;   // ids of what was passed on
constexpr char kStraight = '-', kDetour = '+';  // how what memory says begins

}  // namespace

DetourRail::DetourRail(std::unique_ptr<Rail> rail, Device& device, int self)
    : device_(device), rail_(std::move(rail)), words_(*rail_, self), out_(device), in_(device) {}

void DetourRail::connect(int peer, const std::string& endpoint) {
  rail_->connect(peer, endpoint);
  words_.open(peer);
}

std::unique_ptr<RailMemory> DetourRail::register_memory(const Span& span) {
  std::unique_ptr<Place> place;
  if (span.owner != nullptr && span.kind == MemoryKind::device) {
    place = open_place(span);
    place->text.insert(place->text.begin(), kDetour);
  } else {
    place = std::make_unique<Place>();
    place->straight = rail_->register_memory(span);
    place->text = kStraight + place->straight->said();
  }
  place->span = span;
  return place;
}

std::shared_ptr<const RemoteMemory> DetourRail::reach(int peer, const std::string& said) {
  if (said.at(0) == kStraight) return rail_->reach(peer, said.substr(1));
  return reach_place(peer, said.substr(1));
}

bool DetourRail::post(const RailPost& post) {
  const Place& place = place_of(post);
  if (place.straight != nullptr) {
    RailPost straight = post;
    straight.memory = place.straight.get();
    return rail_->post(straight);
  }
  if (free_.empty()) {
    free_.push_back(operations_.size());
    operations_.emplace_back();
  }
  const std::uint64_t operation = free_.back();
  free_.pop_back();
  operations_[operation] = post;
  begin(operation);
  post_passed();
  return true;
}

void DetourRail::pass_on(std::uint64_t operation, const RailPost& post) {
  auto& waiting = post.call == RailCall::receive ? receives_ : others_;
  waiting.push_back(post);
  waiting.back().id = kPassed | operation;
}

void DetourRail::post_passed() {
  words_.turn();
  for (auto* waiting : {&receives_, &others_}) {
    while (!waiting->empty() && rail_->post(waiting->front())) waiting->pop_front();
  }
}

void DetourRail::end(std::uint64_t operation) {
  RailEvent event;
  event.id = operations_.at(operation).id;
  free_.push_back(operation);
  ended_.push_back(std::move(event));
}

void DetourRail::tell_arrival(std::uint32_t immediate) {
  RailEvent event;
  event.arrived = true;
  event.immediate = immediate;
  ended_.push_back(std::move(event));
}

void DetourRail::take(const RailEvent& event, std::vector<RailEvent>& events) {
  if (event.arrived) {
    events.push_back(event);
  } else if (RailWords::owns(event.id)) {
    words_.ended(event);
  } else if ((event.id & kPassed) == 0) {
    events.push_back(event);
  } else if (!event.error.empty()) {
    throw Error(event.error);
  } else {
    passed(event.id & ~kPassed);
  }
}

void DetourRail::poll(std::vector<RailEvent>& events) {
  events.clear();
  out_.turn();
  in_.turn();
  post_passed();
  rail_->poll(straight_);
  for (const RailEvent& event : straight_) take(event, events);
  for (const auto& [peer, word] : words_.take()) heard(peer, word);
  post_passed();
  events.insert(events.end(), ended_.begin(), ended_.end());
  ended_.clear();
}

}  // namespace duet
