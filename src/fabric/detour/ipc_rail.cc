// By copies between mapped memory; see ipc_rail.h. A send is an offer, which the receiver copies.
#include "fabric/detour/ipc_rail.h"

#include <unistd.h>

#include <utility>

#include "core/error.h"
#include "core/packing.h"

namespace duet {

struct IpcRail::Shared : Place {
  ~Shared() override { span.owner->withdraw(memory); }

  SharedMemory memory;
};

std::unique_ptr<DetourRail::Place> IpcRail::open_place(const Span& span) {
  auto place = std::make_unique<Shared>();
  place->span = span;
  place->memory = device().share(span);
  place->number = ++numbers_;
  place->text = pack({std::to_string(place->number), place->memory.text()});
  return place;
}

std::shared_ptr<const RemoteMemory> IpcRail::reach_place(int peer, const std::string& said) {
  const std::vector<std::string> items = unpack(said);
  const SharedMemory shared = SharedMemory::parse(items.at(1));
  RemoteMemory remote;
  remote.number = std::stoull(items.at(0));
  if (shared.process == getpid() && shared.place == this_place()) {
    remote.base = shared.segments.at(0).base + shared.offset;
    reached_[{peer, remote.number}] = remote;
    return std::make_shared<RemoteMemory>(remote);
  }
  const Span mapped = device().map(shared);
  remote.base = reinterpret_cast<std::uintptr_t>(mapped.data);
  reached_[{peer, remote.number}] = remote;
  const auto unmap = [&on = device(), mapped](const RemoteMemory* gone) {
    delete gone;
    on.unmap(mapped);
  };
  return {new RemoteMemory(remote), unmap};
}

Span IpcRail::own(const RailPost& post) {
  return {&device(), post.data, post.bytes, MemoryKind::device};
}

Span IpcRail::theirs(const RemoteMemory& remote, std::uint64_t offset, std::uint64_t bytes) {
  return {&device(), reinterpret_cast<std::byte*>(remote.base + offset), bytes, MemoryKind::peer};
}

void IpcRail::begin(std::uint64_t operation) {
  const RailPost& post = this->operation(operation);
  const auto message = Message{post.peer, post.tag};
  switch (post.call) {
    case RailCall::send:
      return offer(operation);
    case RailCall::receive: {
      const auto offered = offers_.find(message);
      if (offered == offers_.end()) {
        receives_[message] = operation;
        return;
      }
      pull(operation, offered->second);
      offers_.erase(offered);
      return;
    }
    case RailCall::read:
      return in().start(own(post), theirs(post.remote, post.remote_offset, post.bytes),
                        [this, operation] { end(operation); });
    default:
      return out().start(theirs(post.remote, post.remote_offset, post.bytes), own(post),
                         [this, operation] { written(operation); });
  }
}

void IpcRail::written(std::uint64_t operation) {
  const RailPost& post = this->operation(operation);
  if (post.call == RailCall::write_imm) {
    RailWord word;
    word.kind = RailWord::Kind::arrived;
    word.immediate = post.immediate;
    send(post.peer, word);
  }
  end(operation);
}

void IpcRail::offer(std::uint64_t operation) {
  const RailPost& post = this->operation(operation);
  const Place& place = place_of(post);
  RailWord word;
  word.kind = RailWord::Kind::offered;
  word.memory = place.number;
  word.offset = static_cast<std::uint64_t>(post.data - place.span.data);
  word.bytes = post.bytes;
  word.tag = post.tag;
  word.operation = operation;
  send(post.peer, word);
}

void IpcRail::pull(std::uint64_t operation, const RailWord& offered) {
  const RailPost& post = this->operation(operation);
  const auto found = reached_.find({post.peer, offered.memory});
  if (found == reached_.end() || offered.bytes > post.bytes) {
    throw Error("the peer offered memory that does not fit what was asked for");
  }
  Span to = own(post);
  to.bytes = offered.bytes;
  in().start(to, theirs(found->second, offered.offset, offered.bytes),
             [this, operation, peer = post.peer, word = offered]() mutable {
               word.kind = RailWord::Kind::taken;
               send(peer, word);
               end(operation);
             });
}

void IpcRail::heard(int peer, const RailWord& word) {
  if (word.kind == RailWord::Kind::arrived) return tell_arrival(word.immediate);
  if (word.kind == RailWord::Kind::taken) return end(word.operation);
  const auto waiting = receives_.find({peer, word.tag});
  if (waiting == receives_.end()) {
    offers_[{peer, word.tag}] = word;
    return;
  }
  const std::uint64_t operation = waiting->second;
  receives_.erase(waiting);
  pull(operation, word);
}

}  // namespace duet
