// One rank's calls of a mixture-of-experts layer, for one routing: operations and collectives in
// phases. Which rows move is known when it is made, as it is where a framework uses a routing
// again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "gemm/grouped.h"
#include "moe/counts_exchange.h"
#include "moe/moe_memory.h"
#include "moe/stages.h"
#include "moe/weight_gradients.h"
#include "training/operations/operations.h"

namespace duet {

// The phases, in their order. all_gather has no sum, and pack with rows in fp8 alone; "..._in_node"
// are those of per_node's second hop; "counts" are there with MoeCounts::host. Shared experts are
// computed behind dispatch and behind combine, or beside them.
inline constexpr const char* kMoePhases[] = {"route",
                                             "pack",
                                             "counts",
                                             "dispatch",
                                             "shared",
                                             "pack_in_node",
                                             "counts_in_node",
                                             "dispatch_in_node",
                                             "expand",
                                             "experts",
                                             "reduce",
                                             "combine_in_node",
                                             "sum_in_node",
                                             "combine",
                                             "sum"};
// Those of a backward pass, each of which has the gradient of a phase; of all_gather neither the
// first nor, but for shared experts, the last. "weights" are the gradients of the experts' weights.
inline constexpr const char* kMoeBackwardPhases[] = {
    "sum_backward",          "combine_backward",         "shared_backward",
    "sum_in_node_backward",  "combine_in_node_backward", "reduce_backward",
    "experts_backward",      "expand_backward",          "dispatch_in_node_backward",
    "pack_in_node_backward", "dispatch_backward",        "weights",
    "pack_backward"};
// The name of a hop's phase: "pack", of the second hop "pack_in_node".
std::string phase_of_hop(const char* phase, std::size_t hop);
std::string backward_phase_of_hop(const char* phase, std::size_t hop);

class MoeLayer {
 public:
  // Collective: plans, and writes the logits. Without a session the experts alone multiply what is
  // there. The session, the operations, the weights and the memory must outlive it.
  MoeLayer(Rank& rank, MoeCall call, CollectiveSession* session, const MoeWeights& weights,
           const MoeMemory& memory, Operations& operations, const Tuning& tuning);

  const MoeStages& stages() const { return stages_; }
  std::size_t operations_queued() const;
  double wire_bytes() const;
  bool host_driven() const;
  std::string algorithm() const;        // of the collectives that send rows; "" without one
  std::string gemm_algorithm() const;   // of gate and up
  void poison_staging() const;          // blocking, while no rank is in a call
  std::vector<Tensor> results() const;  // what a call gives its caller

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
  std::size_t hops() const { return rows().hops.size(); }
  // The rows that a hop sends, or their gradient, and the place of those that it returns: a
  // token's, or those that the hop before has brought.
  const Tensor& before(std::size_t hop, const Tensor MoeTensors::*of_tokens,
                       const Tensor MoeHop::*of_hop) const {
    return hop == 0 ? tensors_.*of_tokens : tensors_.hops[hop - 1].*of_hop;
  }
  void plan_products(Rank& rank, const MoeWeights& weights, const Tuning& tuning);
  std::vector<const Product*> products() const;
  void add_routing(Rank& rank);
  void add_sending(Rank& rank, CollectiveSession& session, std::size_t hop);
  void add_packing(std::size_t hop);
  void plan_counts(Rank& rank, CollectiveSession& session);
  void add_expanding();
  void add_experts(std::vector<MoePhase>& to);
  void add_reducing();
  void add_returning(Rank& rank, CollectiveSession& session, std::size_t hop);
  void add_shared(std::vector<MoePhase>& first, std::vector<MoePhase>& second);
  // The backward pass (moe_backward.cc).
  void plan_gradients(Rank& rank, const MoeWeights& weights, const Tuning& tuning);
  void add_backward(Rank& rank, CollectiveSession& session);
  void add_gradients_to_experts(Rank& rank, CollectiveSession& session, std::size_t hop);
  void add_reducing_gradients();
  void add_expert_gradients(std::vector<MoePhase>& to);
  void add_weight_gradients(std::vector<MoePhase>& to);
  void add_shared_gradients(std::vector<MoePhase>& first, std::vector<MoePhase>& second);
  void add_gradients_to_tokens(Rank& rank, CollectiveSession& session, std::size_t hop);
  Product plan_product(Rank& rank, const std::vector<std::int64_t>& counts, const Tensor& a,
                       const Tensor& b, const Tensor& c, Layout layout, const Tuning& tuning) const;
  void add(std::vector<MoePhase>& to, const std::string& phase, const AnyOperation& operation);
  void add(std::vector<MoePhase>& to, const std::string& phase,
           std::unique_ptr<CollectivePlan> plan);
  static void add(std::vector<MoePhase>& to, const std::string& phase, const Product& product);
  // Of a hop, or back.
  std::unique_ptr<CollectivePlan> plan_rows(Rank& rank, CollectiveSession& session, std::size_t hop,
                                            const Tensor& from, const Tensor& to,
                                            bool returns) const;

  void verify_routing(Rank& rank) const;
  void verify_expanded(Rank& rank, std::uint64_t fills) const;
  void verify_products(Rank& rank) const;
  void verify_expert(Rank& rank, const Product& up, const Tensor& gate_up, const Tensor& activated,
                     const Product& down) const;
  void verify_product(Rank& rank, const Product& product, std::int64_t row, double size) const;
  // Of tokens the sums of their experts' rows, in `sums`: by their weights, or as they are.
  void verify_sums(Rank& rank, const Tensor& summed, bool weighs, const Tensor& sums) const;
  std::vector<double> own_part(Rank& rank, const Tensor& summed, bool weighs,
                               std::int64_t token) const;
  // Calls check(row of the experts', token, index of its choice) for each row that they multiply.
  void each_row(const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& check) const;

  // The backward pass (moe_backward_verification.cc).
  // By rank what it has filled in at first, by the fill's function.
  std::vector<std::vector<float>> of_all_ranks(Rank& rank, std::uint64_t fills,
                                               Fill (MoeMemory::*fill)(int, std::uint64_t)
                                                   const) const;
  void verify_backward(Rank& rank, std::uint64_t fills) const;
  void verify_dproducts(Rank& rank, std::uint64_t fills) const;
  void verify_expert_gradients(Rank& rank) const;
  // Of an expert's rows; the largest root mean square of a row of dgate_up, or 1.
  double verify_row_gradients(Rank& rank, const Product& first, const Tensor& gate_up,
                              const Tensor& dactivated, const Tensor& dgate_up,
                              const Product& second) const;
  void verify_weight_gradients(Rank& rank, const WeightGradients& gradients, double size) const;
  void verify_dweights(Rank& rank, std::uint64_t fills) const;
  [[noreturn]] void mismatch(const Rank& rank, const std::string& what) const;

  const MoeCall call_;
  const int rank_;
  const MoeMemory& memory_;
  Operations& operations_;
  const MoeTensors tensors_;
  Tensor logits_;
  Buffer logits_memory_;
  std::vector<std::unique_ptr<CountsExchange>> counts_;  // by hop, where they are exchanged
  Product up_, down_, shared_up_, shared_down_;          // without plans where there are none
  Product dactivated_, dexpanded_;                       // likewise: of a backward pass
  Product dshared_activated_, dshared_x_;                // likewise
  std::vector<WeightGradients> weight_gradients_;        // of down and up, of shared down and up
  std::vector<std::unique_ptr<CollectivePlan>> plans_;  // of each hop rows, then their routing; ...
  MoeStages stages_;
};

}  // namespace duet
