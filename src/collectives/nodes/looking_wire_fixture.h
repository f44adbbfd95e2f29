#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "collectives/nodes/mapped_wire.h"

namespace duet {

// A wire that looks at its semaphores between two calls.
class LookingWire : public Wire {
 public:
  LookingWire(NodeRank& rank, const WireTraffic& traffic, Watchdog& watchdog)
      : wire_(rank, traffic, watchdog), messages_(traffic.messages.size()) {}

  const Span& region() const override { return wire_.region(); }
  Semaphore go(std::size_t i) const override { return wire_.go(i); }
  Semaphore gone(std::size_t i) const override { return wire_.gone(i); }
  Semaphore come(std::size_t i) const override { return wire_.come(i); }
  void begin(Stream& stream) override {
    stream.run({"look at semaphores", {}, [this] { expect_all_zero(); }});
    wire_.begin(stream);
  }
  void enqueue(Stream& stream, std::size_t i) override { wire_.enqueue(stream, i); }
  void end(Stream& stream) override { wire_.end(stream); }
  std::string description() const override { return wire_.description(); }

 private:
  void expect_all_zero() const {
    for (std::size_t i = 0; i < messages_; ++i) {
      EXPECT_EQ(value_of(go(i)), 0u) << "go of message " << i << " of " << messages_;
      EXPECT_EQ(value_of(gone(i)), 0u) << "gone of message " << i << " of " << messages_;
      EXPECT_EQ(value_of(come(i)), 0u) << "come of message " << i << " of " << messages_;
    }
  }
  static std::uint64_t value_of(const Semaphore& semaphore) {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(semaphore.word.data),
                           __ATOMIC_ACQUIRE);
  }

  MappedWire wire_;
  std::size_t messages_;
};

}  // namespace duet
