#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "fabric/region.h"
#include "fabric/traffic.h"

namespace duet {

// Tells the processes of an iteration that the others poll, by a ready message over the rails.
class PeerReadiness : public Sender {
 public:
  // Of process `self`; traffic and rails must outlive it.
  PeerReadiness(Traffic& traffic, RailSet& rails, int self);

  // `number`: of the iteration, the same in all processes and never used twice. expect() posts
  // receives for these peers' ready messages; announce() sends them this process's. Both use each
  // of `rails`; one message from a peer is enough.
  void expect(std::uint64_t number, const std::vector<int>& peers, const std::vector<int>& rails);
  void announce(std::uint64_t number, const std::vector<int>& peers, const std::vector<int>& rails);
  bool complete() const { return missing_.empty(); }
  // The peers whose ready messages have not come.
  const std::set<int>& missing() const { return missing_; }

  void ended(std::uint64_t token) override;
  bool lost(int, const std::vector<std::uint64_t>&) override { return true; }

 private:
  RailPost post(RailCall call, std::uint64_t number, int peer, int rail);

  Traffic& traffic_;
  int self_;
  alignas(64) std::array<std::byte, 128> bytes_{};  // contents do not matter
  Region region_;
  std::uint64_t number_ = 0;
  std::set<int> missing_;
};

}  // namespace duet
