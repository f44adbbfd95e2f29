// One rank's calls of a mixture-of-experts layer, for one routing: operations and collectives in
// phases. Which rows move is known when it is made, as it is where a framework uses a routing
// again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "gemm/grouped.h"
#include "moe/moe_memory.h"
#include "moe/stages.h"
#include "training/operations/operations.h"

namespace duet {

inline constexpr double kMoeDeadline = 120;  // seconds for any wait outside the samples

// The phases, in their order; of all_gather no sum, and pack in fp8 alone. Shared experts are
// computed behind dispatch and behind combine, or beside them.
inline constexpr const char* kMoePhases[] = {"route",   "pack",   "dispatch", "shared", "expand",
                                             "experts", "reduce", "combine",  "sum"};

class MoeLayer {
 public:
  // Collective: plans, and writes the logits. Without a session the experts alone multiply what is
  // there. The session, the operations, the weights and the memory must outlive it.
  MoeLayer(Rank& rank, MoeCall call, CollectiveSession* session, const ExpertWeights& weights,
           const MoeMemory& memory, Operations& operations, const Tuning& tuning);

  const MoeStages& stages() const { return stages_; }
  std::size_t operations_queued() const;
  double wire_bytes() const;
  bool host_driven() const;
  std::string algorithm() const;       // of the collective that sends rows; "" without one
  std::string gemm_algorithm() const;  // of gate and up
  void poison_staging() const;         // blocking, while no rank is in a call
  const Tensor& result() const { return tensors_.out; }

  std::optional<Skipped> unverifiable() const;
  // Collective: compares the last call with the routing and the rows of X. Every row that is
  // multiplied is compared to the byte; of the products and of the sums some, with the tolerance of
  // their roundings. Throws Mismatch.
  void verify(Rank& rank, std::uint64_t fills) const;

 private:
  // A product of groups of rows, or of all of them, and where its matrices are.
  struct Product {
    GroupedGemmProblem problem;
    GemmBuffers buffers;
    std::unique_ptr<GroupedGemmPlan> plan;
  };

  const MoeShape& shape() const { return call_.routed->shape; }
  const ExchangedRows& rows() const { return *call_.rows; }
  std::int64_t own_experts() const { return call_.routed->experts_of_rank(); }
  void plan_products(Rank& rank, const ExpertWeights& weights, const Tuning& tuning);
  std::vector<const Product*> products() const;
  void add_sending(Rank& rank, CollectiveSession& session);
  void add_expanding();
  void add_experts(std::vector<MoePhase>& to);
  void add_returning(Rank& rank, CollectiveSession& session);
  void add_shared(std::vector<MoePhase>& first, std::vector<MoePhase>& second);
  void add(std::vector<MoePhase>& to, const char* phase, const AnyOperation& operation);
  void add(std::vector<MoePhase>& to, const char* phase, std::unique_ptr<CollectivePlan> plan);
  static void add(std::vector<MoePhase>& to, const char* phase, const Product& product);
  std::unique_ptr<CollectivePlan> plan_rows(Rank& rank, CollectiveSession& session,
                                            const Tensor& from, const Tensor& to,
                                            bool returns) const;

  void verify_routing(Rank& rank) const;
  void verify_expanded(Rank& rank, std::uint64_t fills) const;
  void verify_products(Rank& rank) const;
  void verify_expert(Rank& rank, const Product& up, const Tensor& gate_up, const Tensor& activated,
                     const Product& down) const;
  void verify_product(Rank& rank, const Product& product, std::int64_t row, double size) const;
  void verify_sums(Rank& rank) const;
  std::vector<double> own_part(Rank& rank, std::int64_t token) const;
  [[noreturn]] void mismatch(const Rank& rank, const std::string& what) const;

  const MoeCall call_;
  const int rank_;
  const MoeMemory& memory_;
  Operations& operations_;
  const MoeTensors tensors_;
  Tensor logits_;
  Buffer logits_memory_;
  Product up_, down_, shared_up_, shared_down_;         // without plans where there are none
  std::vector<std::unique_ptr<CollectivePlan>> plans_;  // the rows' is the first
  MoeStages stages_;
};

}  // namespace duet
