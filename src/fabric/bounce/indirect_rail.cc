#include "fabric/bounce/indirect_rail.h"

#include <utility>

#include "core/deadline.h"
#include "core/error.h"

namespace duet {
namespace {

constexpr std::uint64_t kForwarded = 1ull << 61;  // in the ids of forwarded posts
// First character of a descriptor: memory registered with the library's rail, or device memory.
constexpr char kLibraryMemory = '-', kDeviceMemory = '+';

}  // namespace

CopyQueue::~CopyQueue() {
  try {
    stream_->synchronize(kDefaultDeadlineSeconds);
  } catch (const Error&) {  // whoever waits for the copies gets the error
  }
}

std::unique_ptr<Event> CopyQueue::take_event() {
  if (free_events_.empty()) return device_.make_event(EventUse::order);
  std::unique_ptr<Event> event = std::move(free_events_.back());
  free_events_.pop_back();
  return event;
}

void CopyQueue::start(const Span& destination, const Span& source, std::function<void()> then) {
  stream_->copy({destination, source, Executor::dma, {}});
  PendingCopy copy{take_event(), std::move(then)};
  stream_->record(*copy.end);
  in_flight_.push_back(std::move(copy));
}

bool CopyQueue::progress() {
  bool any = false;
  while (!in_flight_.empty() && in_flight_.front().end->done()) {
    PendingCopy ended = std::move(in_flight_.front());
    in_flight_.pop_front();
    free_events_.push_back(std::move(ended.end));
    ended.then();
    any = true;
  }
  return any;
}

IndirectRail::IndirectRail(std::unique_ptr<Rail> rail, Device& device, int self)
    : device_(device),
      rail_(std::move(rail)),
      control_(*rail_, self),
      copies_out_(device),
      copies_in_(device) {}

void IndirectRail::connect(int peer, const std::string& endpoint) {
  rail_->connect(peer, endpoint);
  control_.open(peer);
}

std::unique_ptr<RailMemory> IndirectRail::register_memory(const Span& span) {
  std::unique_ptr<RegisteredMemory> memory;
  if (span.owner != nullptr && span.kind == MemoryKind::device) {
    memory = register_device_memory(span);
    memory->text.insert(memory->text.begin(), kDeviceMemory);
  } else {
    memory = std::make_unique<RegisteredMemory>();
    memory->library = rail_->register_memory(span);
    memory->text = kLibraryMemory + memory->library->descriptor();
  }
  memory->span = span;
  return memory;
}

std::shared_ptr<const RemoteMemory> IndirectRail::import_memory(int peer,
                                                                const std::string& descriptor) {
  if (descriptor.at(0) == kLibraryMemory) return rail_->import_memory(peer, descriptor.substr(1));
  return import_device_memory(peer, descriptor.substr(1));
}

bool IndirectRail::post(const RailPost& post) {
  const RegisteredMemory& memory = memory_of(post);
  if (memory.library != nullptr) {
    RailPost direct = post;
    direct.memory = memory.library.get();
    return rail_->post(direct);
  }
  if (free_operations_.empty()) {
    free_operations_.push_back(operations_.size());
    operations_.emplace_back();
  }
  const std::uint64_t operation = free_operations_.back();
  free_operations_.pop_back();
  operations_[operation] = post;
  start_operation(operation);
  post_waiting();
  return true;
}

void IndirectRail::forward(std::uint64_t operation, const RailPost& post) {
  auto& waiting = post.call == RailCall::receive ? waiting_receives_ : waiting_others_;
  waiting.push_back(post);
  waiting.back().id = kForwarded | operation;
}

void IndirectRail::post_waiting() {
  control_.progress();
  for (auto* waiting : {&waiting_receives_, &waiting_others_}) {
    while (!waiting->empty() && rail_->post(waiting->front())) waiting->pop_front();
  }
}

void IndirectRail::finish(std::uint64_t operation) {
  RailEvent event;
  event.id = operations_.at(operation).id;
  free_operations_.push_back(operation);
  own_events_.push_back(std::move(event));
}

void IndirectRail::report_arrival(std::uint32_t immediate) {
  RailEvent event;
  event.arrived = true;
  event.immediate = immediate;
  own_events_.push_back(std::move(event));
}

void IndirectRail::handle_library_event(const RailEvent& event, std::vector<RailEvent>& events) {
  if (event.arrived) {
    events.push_back(event);
  } else if (ControlChannel::owns(event.id)) {
    control_.ended(event);
  } else if ((event.id & kForwarded) == 0) {
    events.push_back(event);
  } else if (!event.error.empty()) {
    throw Error(event.error);
  } else {
    forwarded_ended(event.id & ~kForwarded);
  }
}

void IndirectRail::poll(std::vector<RailEvent>& events) {
  events.clear();
  copies_out_.progress();
  copies_in_.progress();
  post_waiting();
  rail_->poll(library_events_);
  for (const RailEvent& event : library_events_) handle_library_event(event, events);
  for (const auto& [peer, message] : control_.take_received()) control_received(peer, message);
  post_waiting();
  events.insert(events.end(), own_events_.begin(), own_events_.end());
  own_events_.clear();
}

}  // namespace duet
