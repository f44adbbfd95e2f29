// A wire between ranks that map each other's memory: streams copy the messages. On a simulated
// machine these copies cross the simulated network, by the network cards and without copy engines.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "collectives/nodes/copy_steps.h"
#include "collectives/session/peer_semaphores.h"
#include "collectives/session/wire.h"

namespace duet {

class MappedWire : public Wire {
 public:
  // Collective: every rank of every column constructs it inside Team::each(), with as many
  // messages. Throws Unreachable on all ranks if one cannot map another's region.
  MappedWire(NodeRank& rank, const WireTraffic& traffic, Watchdog& watchdog);

  Semaphore go(std::size_t message) const override { return own(0, message); }
  Semaphore gone(std::size_t message) const override { return own(1, message); }
  Semaphore come(std::size_t message) const override { return own(2, message); }
  const Span& region() const override { return region(node_); }
  void begin(Stream& stream) override;
  void enqueue(Stream& stream, std::size_t message) override;
  void end(Stream& stream) override;
  std::string description() const override;

 private:
  const Span& region(int node) const { return given_ ? given_->at(node) : allocated_->at(node); }
  void map_regions(NodeRank& rank, const WireTraffic& traffic);
  void plan(const NodeRank& rank, const WireTraffic& traffic);
  Semaphore word(int owner, std::size_t row, std::size_t message) const;
  Semaphore own(std::size_t row, std::size_t message) const { return word(node_, row, message); }
  // At `sender`: it may write the region of `receiver`.
  Semaphore open(int sender, int receiver) const;

  int node_;
  std::size_t messages_;
  int in_flight_;
  std::optional<PeerMemory> given_;  // the regions, or
  std::optional<OfferedMemory> allocated_;
  PeerSemaphores words_;  // of each rank: go, gone and come of every message
  PeerSemaphores open_;   // for each node: its region may be written
  Handshake opens_;
  SideStreams streams_;  // each has one message in flight
  CopySteps steps_;
  Watched watched_words_, watched_open_;
};

}  // namespace duet
