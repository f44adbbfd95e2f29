#include "fake_gpu/core/graph.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "fake_gpu/core/streams.h"

namespace fake_gpu {
namespace {

const char* text_of(Misuse misuse) {
  switch (misuse) {
    case Misuse::invalidated:
      return "a capture that an earlier error has made invalid";
    case Misuse::unmatched:
      return "a capture that did not begin on this stream";
    case Misuse::unjoined:
      return "a capture of streams that its first does not wait for";
    case Misuse::isolation:
      break;
  }
  return "a wait in a capture for what is in no capture, or in another";
}

std::uint64_t unused_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void move_behind(Position& place, const Position& other) {
  if (place.size() < other.size()) place.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) place[i] = std::max(place[i], other[i]);
}

}  // namespace

CaptureError::CaptureError(Misuse kind) : Error(text_of(kind)), misuse(kind) {}

Graph::Graph() : id(unused_id()) {}

std::size_t Graph::add_branch() {
  branches_.emplace_back();
  return branches_.size() - 1;
}

void Graph::add_node(std::size_t branch, std::function<void(Launch&)> work) {
  auto& [nodes, end] = branches_[branch];
  nodes.push_back({std::move(work), end});
  if (end.size() <= branch) end.resize(branch + 1);
  end[branch] = nodes.size();
}

void Graph::add(std::size_t branch, std::function<void()> work) {
  add_node(branch, [work = std::move(work)](Launch&) { work(); });
  ++size_;
}

void Graph::add_wait(std::size_t branch, const Position& behind) {
  move_behind(branches_[branch].end, behind);
}

void Graph::wait_at_launch(std::size_t branch, Event& event) {
  add_node(branch, [index = awaited_.size()](Launch& launch) {
    const Mark* const mark = launch.awaited[index].get();
    wait_until([mark] { return mark == nullptr || mark->reached; });
  });
  awaited_.push_back(&event);
}

std::size_t Graph::record_at_launch(Event& event, const Position& behind) {
  records_.push_back({&event, behind});
  return records_.size() - 1;
}

void Graph::extend_record(std::size_t record, const Position& behind) {
  move_behind(records_[record].behind, behind);
}

bool Graph::is_joined() const {
  Position all = end_of(0);
  for (const Branch& each : branches_) move_behind(all, each.end);
  return all == end_of(0);
}

// What an event has is read and changed here, in the order of launches, and not when nodes run.
void Graph::launch(Stream& stream) {
  const auto launch = std::make_shared<Launch>(branches_.size());
  for (Event* each : awaited_) launch->awaited.push_back(each->last());
  for (const Record& each : records_) launch->recorded.push_back(each.event->begin_record());
  stream.enqueue([self = shared_from_this(), launch] { self->run(*launch); });
}

void Graph::run(Launch& launch) const {
  reach_records(launch);
  std::vector<std::thread> others;
  for (std::size_t branch = 1; branch < branches_.size(); ++branch) {
    others.emplace_back([this, &launch, branch] { run_branch(launch, branch); });
  }
  run_branch(launch, 0);
  for (std::thread& each : others) each.join();
}

void Graph::run_branch(Launch& launch, std::size_t branch) const {
  for (const Node& node : branches_[branch].nodes) {
    wait_until([&] { return has_come(launch, node.behind); });
    node.work(launch);
    ++launch.done[branch];
    reach_records(launch);
  }
}

void Graph::reach_records(Launch& launch) const {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    Mark& mark = *launch.recorded[i];
    if (!mark.reached && has_come(launch, records_[i].behind)) mark.reach();
  }
}

bool Graph::has_come(const Launch& launch, const Position& place) {
  for (std::size_t branch = 0; branch < place.size(); ++branch) {
    if (launch.done[branch] < place[branch]) return false;
  }
  return true;
}

}  // namespace fake_gpu
