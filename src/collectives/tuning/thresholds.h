// Thresholds of the engine `auto`: the size from which on it runs a collective on copy engines.
// They are measured on the machine (`duet collective --tune`) or built in.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "collectives/collective.h"
#include "team/team.h"

namespace duet {

// The setup for which thresholds hold. The first three members identify an entry of the tuning
// file. The other two choose the nearest built-in table where the tuning file has no entry.
struct TuningSetup {
  std::string device;  // the device's model; on a simulated machine its name, "sim:mi300x-8"
  int ranks = 0;       // ranks of all processes
  bool several_processes = false;  // the run has more than one process
  std::string model{};             // the device's model, on simulated machines too
  bool simulated = false;

  bool operator==(const TuningSetup& other) const {
    return device == other.device && ranks == other.ranks &&
           several_processes == other.several_processes;
  }
};

TuningSetup tuning_setup(Machine& machine, int ranks, bool several_processes);

// "8 x AMD Instinct MI300X in one process".
std::string in_words(const TuningSetup& setup);

// The thresholds of one setup, by kind of collective.
class Thresholds {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  // The size_bytes() from which on `auto` uses copy engines. kNever: at no size, or not set.
  std::uint64_t dma_from(CollectiveKind kind) const;

  void set(CollectiveKind kind, std::uint64_t dma_from) { set_[kind] = dma_from; }
  // Takes from `others` the thresholds that are not set here.
  void complete_from(const Thresholds& others);
  const std::map<CollectiveKind, std::uint64_t>& all() const { return set_; }

 private:
  std::map<CollectiveKind, std::uint64_t> set_;
};

// "by kernel below 1 MiB", of Thresholds::dma_from().
std::string dma_from_text(std::uint64_t dma_from);

// The collectives that Duet's drop-in for NCCL (docs/pytorch.md) makes as packets, all up to one
// size.
constexpr std::array<CollectiveKind, 4> kInPackets = {
    CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::reduce_scatter,
    CollectiveKind::all_reduce};
// Whether the drop-in makes calls of so many bytes (size_bytes() of collective.h) as packets if it
// is asked to.
bool may_be_packets(CollectiveKind kind, std::uint64_t bytes);

// The collectives that it makes by its kernel of chunks.
constexpr std::array<CollectiveKind, 5> kInChunks = {
    CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::broadcast,
    CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};
bool may_be_chunks(CollectiveKind kind);

// Sizes from `above` on, without that, to `to`; none if `to` is 0.
struct SizeRange {
  std::uint64_t above = 0, to = 0;

  bool operator==(const SizeRange& other) const { return above == other.above && to == other.to; }
};

// Where the drop-in is as fast as NCCL.
struct BesideNccl {
  Thresholds copies;  // dma_from(): from which size on, by copy engines
  // Up to which size, as packets; 0: at none.
  std::map<CollectiveKind, std::uint64_t> packets;
  std::map<CollectiveKind, SizeRange> kernel = {};  // at which sizes, by the kernel of chunks

  bool empty() const { return copies.all().empty() && packets.empty() && kernel.empty(); }
};

// The thresholds that all ranks of the team use, for every collective: those of process 0's tuning
// file, completed by the built-in ones for its devices. Collective among processes; called outside
// Team::each(). Throws UsageError in all processes where the file is damaged.
Thresholds team_thresholds(Team& team);

}  // namespace duet
