#include "communicator/collective_call.h"

#include <fmt/format.h>

#include "collectives/engine.h"
#include "communicator/native_streams.h"

namespace duet {

CollectiveCall::CollectiveCall() = default;
CollectiveCall::CollectiveCall(std::shared_ptr<CollectiveSession> session,
                               std::unique_ptr<CollectivePlan> plan, NativeStreams& streams)
    : session_(std::move(session)), plan_(std::move(plan)), streams_(&streams) {}
CollectiveCall::CollectiveCall(CollectiveCall&& other) noexcept = default;
// What it had ends plan first.
CollectiveCall& CollectiveCall::operator=(CollectiveCall&& other) noexcept {
  plan_ = std::move(other.plan_);
  session_ = std::move(other.session_);
  streams_ = other.streams_;
  return *this;
}
CollectiveCall::~CollectiveCall() = default;

CollectivePlan& CollectiveCall::plan() const {
  if (plan_ == nullptr) throw BadArgument("a CollectiveCall without a plan: see LocalRank::plan()");
  return *plan_;
}

CollectivePlan& CollectiveCall::plan_for(Stream& stream) const {
  CollectivePlan& own = plan();
  const Device& device = streams_->device();
  if (&stream.device() == &device) return own;
  throw BadArgument(fmt::format("expected a stream of {}, not of {}", device.info().name,
                                stream.device().info().name));
}

void CollectiveCall::enqueue(Stream& stream) { plan_for(stream).enqueue(stream); }

void CollectiveCall::enqueue_rows(Stream& stream, const MultiplyRows& multiply) {
  plan_for(stream).enqueue_rows(stream, multiply);
}

void CollectiveCall::enqueue_rows(void* native_stream, const MultiplyRows& multiply) {
  CollectivePlan& own = plan();
  own.enqueue_rows(streams_->wrapped(native_stream), multiply);
}

void CollectiveCall::enqueue(void* native_stream) {
  CollectivePlan& own = plan();
  own.enqueue(streams_->wrapped(native_stream));
}

bool CollectiveCall::takes_buffers() const { return plan().takes_buffers(); }

void CollectiveCall::enqueue_at(Stream& stream, const BufferAddresses& buffers) {
  plan_for(stream).enqueue_at(stream, buffers);
}

void CollectiveCall::enqueue_at(void* native_stream, const BufferAddresses& buffers) {
  CollectivePlan& own = plan();
  own.enqueue_at(streams_->wrapped(native_stream), buffers);
}

std::string CollectiveCall::algorithm() const { return plan().algorithm(); }

}  // namespace duet
