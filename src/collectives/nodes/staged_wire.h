// A wire over rails that do not reach the ranks' memory: copy engines bring it to pinned slots, and
// from such slots to the receiver's region. Messages go in chunks, so that both ends copy while the
// rails carry others:
//
//   sender's stream           rails                      receiver's stream
//   go, slot is free
//   copy to the slot --go-->  chunk (fabric_wire.h) --come--> copy to the region
//   gone, of a message        slot is free <--taken---------- come, of a message
//
// Chunks go and come in the order of the messages, each through the slot of its number.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/nodes/copy_steps.h"
#include "collectives/nodes/fabric_wire.h"
#include "collectives/session/peer_semaphores.h"

namespace duet {

class StagedWire : public Wire, private DeviceWaits {
 public:
  // As FabricWire().
  StagedWire(NodeRank& rank, const WireTraffic& traffic, Network& network, Watchdog& watchdog);

  Semaphore go(std::size_t message) const override { return semaphore_at(words_, message); }
  Semaphore gone(std::size_t message) const override {
    return semaphore_at(words_, messages_ + message);
  }
  Semaphore come(std::size_t message) const override {
    return semaphore_at(words_, 2 * messages_ + message);
  }
  const Span& region() const override { return region_span_; }
  void begin(Stream& stream) override;
  void enqueue(Stream& stream, std::size_t message) override;
  void end(Stream& stream) override;
  std::string description() const override;

 private:
  // Of one message's bytes.
  struct Chunk {
    std::size_t message = 0;
    std::uint64_t begin = 0;
    bool first = false, last = false;
  };
  using Places = std::vector<WirePiece>;  // of one message, in the order in which its bytes go
  struct Agreed {
    std::uint64_t slot_bytes = 0;
    std::vector<Chunk> chunks;  // as many at all ranks, though messages may differ in size
    // By node and message: where its pieces go; of the sources only the sizes.
    std::vector<std::vector<Places>> messages;
  };

  void agree(NodeRank& rank, const WireTraffic& traffic, double gbit_per_s);
  static Agreed agreed(const std::vector<std::string>& all);
  // The node from which this rank receives the message.
  int sender_of(const NodeRank& rank, const WireTraffic& traffic, std::size_t message) const;
  WireTraffic between_slots(const NodeRank& rank, const WireTraffic& traffic) const;
  void copy_out(const WireTraffic& traffic, std::size_t number);
  void copy_in(const NodeRank& rank, const WireTraffic& traffic, std::size_t number);
  Span slot(const Buffer& slots, std::size_t number, std::uint64_t bytes) const;
  void release_waits() noexcept override { release_all(device_, words_, 0); }

  Device& device_;
  std::size_t messages_;
  std::shared_ptr<const Agreed> agreed_;
  std::size_t slots_ = 0;
  Buffer out_, in_;   // the slots, of chunk i the one of i modulo their number
  Buffer allocated_;  // the region, where it is the wire's own
  Span region_span_;
  Buffer words_;  // go, gone and come of every message
  std::unique_ptr<FabricWire> rails_;
  SideStreams streams_;  // one copies out, one in
  CopySteps steps_;
  std::vector<std::size_t> first_step_;  // by message, and behind the last one
  std::unique_ptr<Watched> watched_;
};

// The wire for a network's rails: staged where they do not reach the ranks' memory. As
// FabricWire().
std::unique_ptr<Wire> make_rails_wire(NodeRank& rank, const WireTraffic& traffic, Network& network,
                                      Watchdog& watchdog);

}  // namespace duet
