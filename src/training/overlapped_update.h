// The optimizer beside the backward pass: parameters are updated on a second stream as soon as
// their gradients are complete. GEMMs leave compute units and memory bandwidth unused, which an
// optimizer, bound by memory, takes.
#pragma once

#include <memory>
#include <vector>

#include "training/model.h"

namespace duet {

class OverlappedUpdate {
 public:
  explicit OverlappedUpdate(Device& device);

  // Enqueues a backward pass on `stream`, whose priority should be above the default, and all
  // updates beside it; later work of `stream` comes after both. Can be captured.
  void enqueue(Stream& stream, Model& model, Accumulate gradients);

 private:
  Event& next_event();

  Device& device_;
  std::unique_ptr<Stream> updates_;
  std::vector<std::unique_ptr<Event>> events_;  // one for each range, and one for the end
  std::size_t used_ = 0;
};

}  // namespace duet
