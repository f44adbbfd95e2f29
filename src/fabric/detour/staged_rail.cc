// Through mirrors; see staged_rail.h.
//   write   copy out | rail: write | word: arrived -> copy in -> word: settled
//   read    word: wanted -> copy out -> word: ready | rail: read | copy in
//   send    copy out | rail: send;  receive   rail: receive | copy in
#include "fabric/detour/staged_rail.h"

#include "core/packing.h"

namespace duet {

struct StagedRail::Mirrored : Place {
  ~Mirrored() override { known->erase(number); }

  std::shared_ptr<Buffer> mirror;
  std::unique_ptr<RailMemory> registered;  // of the mirror
  std::shared_ptr<Known> known;
};

std::shared_ptr<Buffer> Mirrors::of(const Span& span) {
  std::weak_ptr<Buffer>& known = mirrors_[span.data];
  std::shared_ptr<Buffer> mirror = known.lock();
  if (mirror != nullptr && mirror->bytes() == span.bytes) return mirror;
  mirror = std::make_shared<Buffer>(span.owner->allocate(span.bytes, MemoryKind::pinned));
  known = mirror;
  return mirror;
}

StagedRail::StagedRail(std::unique_ptr<Rail> rail, Device& device, int self,
                       std::shared_ptr<Mirrors> mirrors)
    : DetourRail(std::move(rail), device, self), mirrors_(std::move(mirrors)) {}

std::unique_ptr<DetourRail::Place> StagedRail::open_place(const Span& span) {
  auto place = std::make_unique<Mirrored>();
  place->known = known_;
  place->mirror = mirrors_->of(span);
  place->registered = straight().register_memory(place->mirror->span());
  place->number = ++numbers_;
  place->text = pack({std::to_string(place->number), place->registered->said()});
  known_->emplace(place->number, place.get());
  return place;
}

std::shared_ptr<const RemoteMemory> StagedRail::reach_place(int peer, const std::string& said) {
  const std::vector<std::string> items = unpack(said);
  auto remote = std::make_shared<RemoteMemory>(*straight().reach(peer, items.at(1)));
  remote->number = std::stoull(items.at(0));
  return remote;
}

StagedRail::Stretch StagedRail::stretch_of(const Mirrored& place, std::uint64_t offset,
                                           std::uint64_t bytes) {
  return {place.span.slice(offset, bytes), place.mirror->slice(offset, bytes)};
}

StagedRail::Stretch StagedRail::stretch_of(std::uint64_t operation) const {
  const RailPost& post = this->operation(operation);
  const auto& place = static_cast<const Mirrored&>(place_of(post));
  return stretch_of(place, static_cast<std::uint64_t>(post.data - place.span.data), post.bytes);
}

void StagedRail::begin(std::uint64_t operation) {
  switch (this->operation(operation).call) {
    case RailCall::read:
      return ask(operation, RailWord::Kind::wanted);
    case RailCall::receive:
      return pass_mirror_on(operation);
    default:
      break;
  }
  const Stretch stretch = stretch_of(operation);
  out().start(stretch.mirror, stretch.memory, [this, operation] { pass_mirror_on(operation); });
}

void StagedRail::pass_mirror_on(std::uint64_t operation) {
  RailPost post = this->operation(operation);
  post.memory = static_cast<const Mirrored&>(place_of(post)).registered.get();
  post.data = stretch_of(operation).mirror.data;
  if (post.call == RailCall::write_imm) post.call = RailCall::write;  // the words tell
  pass_on(operation, post);
}

void StagedRail::passed(std::uint64_t operation) {
  switch (this->operation(operation).call) {
    case RailCall::send:
      return end(operation);
    case RailCall::receive:
    case RailCall::read:
      return copy_in(operation);
    default:
      return ask(operation, RailWord::Kind::arrived);
  }
}

void StagedRail::copy_in(std::uint64_t operation) {
  const Stretch stretch = stretch_of(operation);
  in().start(stretch.memory, stretch.mirror, [this, operation] { end(operation); });
}

void StagedRail::ask(std::uint64_t operation, RailWord::Kind kind) {
  const RailPost& post = this->operation(operation);
  RailWord word;
  word.kind = kind;
  word.told = post.call == RailCall::write_imm ? 1 : 0;
  word.immediate = post.immediate;
  word.memory = post.remote.number;
  word.offset = post.remote_offset;
  word.bytes = post.bytes;
  word.operation = operation;
  send(post.peer, word);
}

void StagedRail::heard(int peer, const RailWord& word) {
  if (word.kind == RailWord::Kind::settled) return end(word.operation);
  if (word.kind == RailWord::Kind::ready) return pass_mirror_on(word.operation);
  const auto known = known_->find(word.memory);
  if (known == known_->end()) return;  // gone after a failure: nobody waits any more
  const Stretch stretch = stretch_of(*known->second, word.offset, word.bytes);
  if (word.kind == RailWord::Kind::arrived) return copy_in_for(peer, word, stretch);
  copy_out_for(peer, word, stretch);
}

void StagedRail::copy_in_for(int peer, const RailWord& word, const Stretch& stretch) {
  in().start(stretch.memory, stretch.mirror, [this, peer, word] {
    if (word.told != 0) tell_arrival(word.immediate);
    RailWord answer = word;
    answer.kind = RailWord::Kind::settled;
    send(peer, answer);
  });
}

void StagedRail::copy_out_for(int peer, const RailWord& word, const Stretch& stretch) {
  out().start(stretch.mirror, stretch.memory, [this, peer, word] {
    RailWord answer = word;
    answer.kind = RailWord::Kind::ready;
    send(peer, answer);
  });
}

}  // namespace duet
