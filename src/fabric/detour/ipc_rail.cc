// By copies between mapped memory; see ipc_rail.h. A send is an offer, which the receiver copies.
#include "fabric/detour/ipc_rail.h"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/packing.h"

namespace duet {

namespace {

// What the rails of this process share. A peer of the same process is reached by its addresses, and
// only by those: another process may say that it is this one.
class SharedHere {
 public:
  static SharedHere& instance() {
    static SharedHere all;
    return all;
  }
  void add(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    texts_.insert(text);
  }
  void remove(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    texts_.erase(texts_.find(text));
  }
  bool has(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return texts_.count(text) > 0;
  }

 private:
  std::mutex mutex_;
  std::multiset<std::string> texts_;
};

}  // namespace

struct IpcRail::Shared : Place {
  Shared(Device& device, const Span& mine) : memory(device.share(mine)) {
    span = mine;
    SharedHere::instance().add(memory.text());
  }
  ~Shared() override {
    SharedHere::instance().remove(memory.text());
    span.owner->withdraw(memory);
  }

  SharedMemory memory;
};

std::unique_ptr<DetourRail::Place> IpcRail::open_place(const Span& span) {
  auto place = std::make_unique<Shared>(device(), span);
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
    if (!SharedHere::instance().has(items.at(1))) {
      throw Error("the peer offers memory of this process that it does not share");
    }
    remote.base = shared.segments.at(0).base + shared.offset;
    reached_[{peer, remote.number}] = {remote, shared.bytes};
    return std::make_shared<RemoteMemory>(remote);
  }
  const Span mapped = device().map(shared);
  remote.base = reinterpret_cast<std::uintptr_t>(mapped.data);
  reached_[{peer, remote.number}] = {remote, shared.bytes};
  const auto unmap = [&on = device(), mapped](const RemoteMemory* gone) {
    delete gone;
    on.unmap(mapped);
  };
  return {new RemoteMemory(remote), unmap};
}

Span IpcRail::own(const RailPost& post) {
  return {&device(), post.data, post.bytes, MemoryKind::device};
}

Span IpcRail::theirs(int peer, std::uint64_t number, std::uint64_t offset, std::uint64_t bytes) {
  const auto found = reached_.find({peer, number});
  if (found == reached_.end()) throw Error("the peer names memory that it did not offer");
  const auto& [memory, all] = found->second;
  const Span whole{&device(), reinterpret_cast<std::byte*>(memory.base), all, MemoryKind::peer};
  try {
    return whole.slice(offset, bytes);
  } catch (const BadArgument& error) {
    throw Error(fmt::format("the peer's memory ends before: {}", error.what()));
  }
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
      return in().start(own(post),
                        theirs(post.peer, post.remote.number, post.remote_offset, post.bytes),
                        [this, operation] { end(operation); });
    default:
      return out().start(theirs(post.peer, post.remote.number, post.remote_offset, post.bytes),
                         own(post), [this, operation] { written(operation); });
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
  if (offered.bytes > post.bytes) {
    throw Error("the peer offered memory that does not fit what was asked for");
  }
  Span to = own(post);
  to.bytes = offered.bytes;
  in().start(to, theirs(post.peer, offered.memory, offered.offset, offered.bytes),
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
