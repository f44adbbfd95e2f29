#include "training/overlapped_update.h"

namespace duet {

OverlappedUpdate::OverlappedUpdate(Device& device)
    : device_(device), updates_(device.make_stream()) {}

Event& OverlappedUpdate::next_event() {
  if (used_ == events_.size()) events_.push_back(device_.make_event(EventUse::order));
  return *events_[used_++];
}

void OverlappedUpdate::enqueue(Stream& stream, Model& model, Accumulate gradients) {
  used_ = 0;
  model.backward(stream, gradients, [&](const ParameterRange& range) {
    Event& complete = next_event();
    stream.record(complete);
    updates_->wait(complete);
    model.update(*updates_, range);
  });
  Event& updated = next_event();
  updates_->record(updated);
  stream.wait(updated);
}

}  // namespace duet
