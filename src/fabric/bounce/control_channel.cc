#include "fabric/bounce/control_channel.h"

#include "core/error.h"

namespace duet {
namespace {

constexpr std::size_t kBlockMessages = 64;  // also the number of receives posted for each peer

}  // namespace

std::size_t ControlChannel::add_block() {
  const std::size_t first = slots_.size();
  auto block = std::make_unique<MessageBlock>();
  block->messages.resize(kBlockMessages);
  auto* data = reinterpret_cast<std::byte*>(block->messages.data());
  block->memory = rail_.register_memory(
      {nullptr, data, kBlockMessages * sizeof(ControlMessage), MemoryKind::pageable});
  blocks_.push_back(std::move(block));
  slots_.resize(first + kBlockMessages);
  return first;
}

void ControlChannel::open(int peer) {
  const std::size_t first = add_block();
  for (std::size_t slot = first; slot < slots_.size(); ++slot) {
    slots_[slot] = {true, peer};
    receives_.push_back(slot);
  }
}

void ControlChannel::send(int peer, const ControlMessage& message) {
  if (free_slots_.empty()) {
    const std::size_t first = add_block();
    for (std::size_t slot = first; slot < slots_.size(); ++slot) free_slots_.push_back(slot);
  }
  const std::size_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot] = {false, peer};
  message_at(slot) = message;
  sends_.push_back(slot);
}

ControlMessage& ControlChannel::message_at(std::size_t slot) {
  return blocks_[slot / kBlockMessages]->messages[slot % kBlockMessages];
}

RailPost ControlChannel::post(std::size_t slot) {
  RailPost post;
  post.call = slots_[slot].receives ? RailCall::receive : RailCall::send;
  post.peer = slots_[slot].peer;
  post.data = reinterpret_cast<std::byte*>(&message_at(slot));
  post.bytes = sizeof(ControlMessage);
  post.memory = blocks_[slot / kBlockMessages]->memory.get();
  post.tag = kTag | static_cast<std::uint64_t>(slots_[slot].receives ? post.peer : self_);
  post.id = kIds | slot;
  return post;
}

void ControlChannel::progress() {
  for (auto* waiting : {&receives_, &sends_}) {
    while (!waiting->empty() && rail_.post(post(waiting->front()))) waiting->pop_front();
  }
}

void ControlChannel::ended(const RailEvent& event) {
  if (!event.error.empty()) throw Error(event.error);
  const std::size_t number = event.id & ~kIds;
  const MessageSlot& slot = slots_.at(number);
  if (!slot.receives) {
    free_slots_.push_back(number);
    return;
  }
  received_.emplace_back(slot.peer, message_at(number));
  receives_.push_back(number);
}

std::vector<ControlChannel::Received> ControlChannel::take_received() {
  return std::exchange(received_, {});
}

}  // namespace duet
