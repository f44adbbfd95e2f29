// Places for words, and their posts; see rail_words.h.
#include "fabric/detour/rail_words.h"

#include "core/error.h"

namespace duet {
namespace {

constexpr std::size_t kWordsInBlock = 64;  // and so many receives wait for each peer's

}  // namespace

std::size_t RailWords::add_block() {
  const std::size_t first = slots_.size();
  auto block = std::make_unique<Block>();
  block->words.resize(kWordsInBlock);
  auto* data = reinterpret_cast<std::byte*>(block->words.data());
  block->memory = rail_.register_memory(
      {nullptr, data, kWordsInBlock * sizeof(RailWord), MemoryKind::pageable});
  blocks_.push_back(std::move(block));
  slots_.resize(first + kWordsInBlock);
  return first;
}

void RailWords::open(int peer) {
  const std::size_t first = add_block();
  for (std::size_t place = first; place < slots_.size(); ++place) {
    slots_[place] = {true, peer};
    receives_.push_back(place);
  }
}

void RailWords::send(int peer, const RailWord& word) {
  if (free_.empty()) {
    const std::size_t first = add_block();
    for (std::size_t place = first; place < slots_.size(); ++place) free_.push_back(place);
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  slots_[place] = {false, peer};
  word_at(place) = word;
  sends_.push_back(place);
}

RailWord& RailWords::word_at(std::size_t place) {
  return blocks_[place / kWordsInBlock]->words[place % kWordsInBlock];
}

RailPost RailWords::post(std::size_t place) {
  RailPost post;
  post.call = slots_[place].receives ? RailCall::receive : RailCall::send;
  post.peer = slots_[place].peer;
  post.data = reinterpret_cast<std::byte*>(&word_at(place));
  post.bytes = sizeof(RailWord);
  post.memory = blocks_[place / kWordsInBlock]->memory.get();
  post.tag = kTag | static_cast<std::uint64_t>(slots_[place].receives ? post.peer : self_);
  post.id = kIds | place;
  return post;
}

void RailWords::turn() {
  for (auto* waiting : {&receives_, &sends_}) {
    while (!waiting->empty() && rail_.post(post(waiting->front()))) waiting->pop_front();
  }
}

void RailWords::ended(const RailEvent& event) {
  if (!event.error.empty()) throw Error(event.error);
  const std::size_t place = event.id & ~kIds;
  const Slot& slot = slots_.at(place);
  if (!slot.receives) {
    free_.push_back(place);
    return;
  }
  heard_.emplace_back(slot.peer, word_at(place));
  receives_.push_back(place);
}

std::vector<RailWords::Heard> RailWords::take() { return std::exchange(heard_, {}); }

}  // namespace duet
