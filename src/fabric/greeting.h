// How the processes of a load know that the others poll: a word over the rails themselves, since
// nothing moves over them before.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "fabric/region.h"
#include "fabric/traffic.h"

namespace duet {

class Greeting : public Sender {
 public:
  // Of process `self`; traffic and rails must outlive it.
  Greeting(Traffic& traffic, RailSet& rails, int self);

  // Every greeting has a number of its own, the same in all processes. expect(): these peers' words
  // will come; tell(): sends them this process's. Over each of `rails`; one that comes is enough.
  void expect(std::uint64_t number, const std::vector<int>& peers, const std::vector<int>& rails);
  void tell(std::uint64_t number, const std::vector<int>& peers, const std::vector<int>& rails);
  bool complete() const { return missing_.empty(); }
  // The peers whose words have not come.
  const std::set<int>& missing() const { return missing_; }

  void ended(std::uint64_t token) override;
  bool lost(int, const std::vector<std::uint64_t>&) override { return true; }

 private:
  RailPost post(RailCall call, std::uint64_t number, int peer, int rail);

  Traffic& traffic_;
  int self_;
  alignas(64) std::array<std::byte, 128> words_{};  // nobody reads what was sent
  Region region_;
  std::uint64_t number_ = 0;
  std::set<int> missing_;
};

}  // namespace duet
