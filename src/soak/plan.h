// What each round of a soak does: drawn from counter-based random numbers of the run's seed and the
// round's number, so that any round can be repeated alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/collective.h"
#include "device/stream.h"
#include "gemm/problem.h"

namespace duet {

// A collective that an engine of the machine can run out of place.
struct SoakCollective {
  std::string engine;
  CollectiveKind kind = CollectiveKind::all_gather;
  DType dtype = DType::int8;
};

inline constexpr std::uint64_t kSoakMiB = 1 << 20, kSoakGiB = 1 << 30;

// What rounds draw from: the same for the same machine.
struct SoakMenu {
  int ranks = 1;
  std::vector<GemmProblem> gemms;           // at least one
  std::vector<Executor> executors;          // of copies between devices; at least one
  std::vector<SoakCollective> collectives;  // empty: none
  // Of a copy to another device and of a collective (size_bytes() of collective.h).
  std::uint64_t least_bytes = 0, most_bytes = 0;
  int most_products = 1;  // of a set of SoakGemm
};

struct SoakRoundPlan {
  int round = 0;           // from 1
  std::uint64_t seed = 0;  // of the round's contents
  GemmProblem gemm;
  // Rank r copies to rank (r + shift) % ranks; 0: there is one rank.
  int shift = 0;
  Executor executor = Executor::dma;
  std::uint64_t peer_bytes = 0;  // of a copy to another device
  std::uint64_t host_bytes = 0;  // of a copy to or from host memory
  std::string engine;            // of the collective; "": there is none
  Collective collective;
};

SoakRoundPlan soak_round(const SoakMenu& menu, std::uint64_t seed, int round);

// The seed of contents: of a batch of copies and collectives from 1 on (0: of what stays for the
// round), of a rank's lane. Seeds of a lane's following ranks follow it.
std::uint64_t soak_seed(const SoakRoundPlan& plan, int batch, int lane, int rank);

}  // namespace duet
