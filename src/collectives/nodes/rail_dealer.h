// Which rail carries which piece of a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace duet {

// Deals pieces, each to the rail with the least under way, so that a slow rail gets fewer. What a
// rail has taken no other can carry: so rails have several pieces under way, which hides latencies,
// but together at most half as much as is left to deal, until they have the fewest.
class RailDealer {
 public:
  static constexpr std::size_t kMostPieces = 8, kFewestPieces = 4;  // under way on a rail

  explicit RailDealer(std::size_t rails) : in_flight_(rails), posted_(rails) {}

  // A call begins that deals so many bytes. Nothing is under way.
  void begin(std::uint64_t bytes) { left_ = bytes; }
  // Which of these rails takes a piece of so many bytes; -1: none, before one has ended.
  int choose(const std::vector<int>& rails, std::uint64_t bytes) const;
  void post(int rail, std::uint64_t bytes);
  void ended(int rail, std::uint64_t bytes);
  // The rail is lost, and the piece is dealt again where it has not come.
  void lost(int rail, std::uint64_t bytes);

 private:
  bool takes(std::size_t rail, std::size_t rails, std::uint64_t bytes) const;

  std::uint64_t left_ = 0;                // bytes
  std::vector<std::uint64_t> in_flight_;  // bytes, by rail
  std::vector<std::size_t> posted_;       // pieces in flight, by rail
};

}  // namespace duet
