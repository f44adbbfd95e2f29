#pragma once

#include <memory>
#include <utility>

#include "collectives/memory.h"
#include "collectives/session/session_plans.h"

namespace duet {

// A user's buffer of a session, which outlives the plans that a failure left with work.
class SessionMemory : public CollectiveMemory {
 public:
  SessionMemory(const std::shared_ptr<SessionPlans>& plans, Buffer buffer)
      : plans_(plans), buffer_(std::move(buffer)) {}
  ~SessionMemory() override {
    if (const auto plans = plans_.lock()) plans->end(std::move(buffer_));
  }
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;
  Span span() const override { return buffer_.span(); }

 private:
  std::weak_ptr<SessionPlans> plans_;
  Buffer buffer_;
};

}  // namespace duet
