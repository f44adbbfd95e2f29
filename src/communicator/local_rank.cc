#include "communicator/local_rank.h"

#include <utility>

#include "collectives/engine.h"

namespace duet {
namespace {

// Memory of a session that may have been replaced by another one.
class KeptMemory : public CollectiveMemory {
 public:
  KeptMemory(std::shared_ptr<CollectiveSession> session, std::unique_ptr<CollectiveMemory> memory)
      : session_(std::move(session)), memory_(std::move(memory)) {}
  Span span() const override { return memory_->span(); }

 private:
  std::shared_ptr<CollectiveSession> session_;
  std::unique_ptr<CollectiveMemory> memory_;
};

}  // namespace

LocalRank::LocalRank(const Rank& rank, std::shared_ptr<CollectiveSession> session,
                     NativeStreams& streams)
    : rank_(std::make_shared<Rank>(rank)), session_(std::move(session)), streams_(streams) {}

int LocalRank::index() const { return rank_->index; }
int LocalRank::size() const { return rank_->size; }
int LocalRank::local() const { return rank_->local; }
Device& LocalRank::device() const { return rank_->device; }

std::unique_ptr<CollectiveMemory> LocalRank::allocate(std::uint64_t bytes) {
  return std::make_unique<KeptMemory>(session_, session_->allocate(*rank_, bytes));
}

CollectiveCall LocalRank::plan(const Collective& collective, const Span& send, const Span& recv) {
  return plan(collective, CollectiveBuffers{send, recv});
}

CollectiveCall LocalRank::plan(const Collective& collective, const CollectiveBuffers& buffers) {
  return {session_, session_->plan(*rank_, collective, buffers), streams_};
}

Span LocalRank::adopt(void* data, std::uint64_t bytes) const {
  return bytes == 0 ? Span{} : rank_->device.adopt(data, bytes);
}

CollectiveCall LocalRank::plan(const std::function<Request()>& find) {
  CollectiveCall call;
  all_or_none("all ranks to have planned on their own memory", [&] {
    const Request request = find();
    call = plan(request.collective, request.buffers);
  });
  return call;
}

CollectiveCall LocalRank::plan(const Collective& collective, const void* send, void* recv) {
  return plan([&]() -> Request {
    check(collective, rank_->size);
    return {collective,
            {adopt(const_cast<void*>(send), send_bytes(collective, rank_->index, rank_->size)),
             adopt(recv, recv_bytes(collective, rank_->index, rank_->size))}};
  });
}

// Two collective steps: after the barrier every rank unmaps the others' memory, and free_retired()
// frees it when all have.
void LocalRank::retire(CollectiveCall call) {
  barrier("the other ranks to be done with a call");
  call = {};
  rank_->team.free_retired(*rank_);
}

void LocalRank::barrier(const std::string& what, double deadline_seconds) {
  rank_->team.barrier(what, deadline_seconds);
}

void LocalRank::all_or_none(const std::string& what, const std::function<void()>& step) {
  rank_->team.all_or_none(*rank_, what, step);
}

void LocalRank::fail(const std::string& why) const { rank_->team.fail(rank_->index, why); }

}  // namespace duet
