// The matrices of one rank of a mixture-of-experts layer.
#pragma once

#include <memory>
#include <vector>

#include "collectives/engine.h"
#include "moe/exchanged_rows.h"
#include "training/operations/tensor.h"

namespace duet {

// What a call asks for.
struct MoeCall {
  std::shared_ptr<const RoutedTokens> routed;
  std::shared_ptr<const ExchangedRows> rows;
  const std::vector<float>* logits = nullptr;  // of this rank; alive while the layer is made
  bool host_counts = false;                    // MoeCounts::host
};

// Rows of a rank: that it sends, its own included, and receives in each hop, and that its experts
// multiply; and the groups of destinations of a hop.
struct MoeSizes {
  struct OfHop {
    std::int64_t sent = 0, received = 0, groups = 0;
  };
  std::vector<OfHop> hops;
  std::int64_t multiplied = 0;
};
MoeSizes sizes_of(const ExchangedRows& rows, int rank);
// As many as the call that has most of each.
MoeSizes most_of(const std::vector<MoeCall>& calls, int rank);

// Rows on a hop and back. Of all_gather, what is sent has no memory of its own.
struct MoeHop {
  Tensor sent, returned;            // (sent, hidden), what is sent perhaps in fp8
  Tensor sent_routing;              // (sent, routing's columns), of per_expert (sent, 1)
  Tensor sent_tokens, sent_places;  // GroupRows of what is sent
  Tensor received, partial;         // (received, hidden), likewise
  Tensor received_routing;          // as sent_routing

  // Of a backward pass the gradients of what has this name, of the same shapes.
  Tensor dsent, dreturned, dreceived, dpartial;
  // fp32, of the weights of choices, with columns behind them (columns_of_gradient); those sent are
  // without elements where the token's rank weighs.
  Tensor received_dweights, sent_dweights;
};

struct MoeTensors {
  Tensor x, out;      // (tokens, hidden)
  Tensor travelling;  // X as it is sent: itself, or in fp8
  Tensor routing;     // (tokens, 2 * chosen), int32: ChooseExperts
  // GroupRows of it by experts, of a shape that drops.
  Tensor choice_tokens, choice_places, choice_offsets;
  std::vector<MoeHop> hops;
  Tensor tokens, places;      // GroupRows of what was received
  Tensor expanded, products;  // (multiplied, hidden)
  Tensor gate_up, activated;  // (multiplied, 2 * width), (multiplied, width)
  // (tokens, 2 * shared_width), (tokens, shared_width), (tokens, hidden)
  Tensor shared_gate_up, shared_activated, shared_products;

  // Of a backward pass the gradients of what has this name, of the same shapes.
  Tensor dx, dout;
  Tensor dexpanded, dproducts, dgate_up, dactivated;
  Tensor dweights;                                       // as those of rows
  Tensor dshared_gate_up, dshared_activated, dshared_x;  // of X its part
  Tensor dup, ddown, dshared_up, dshared_down;           // of the experts' weights
};

// As many columns as GPUs add.
inline std::int64_t columns_of_gradient(std::int64_t chosen) { return (chosen + 7) / 8 * 8; }

// The weights of a rank's experts, random numbers.
class MoeWeights {
 public:
  // Enqueues their values.
  MoeWeights(Rank& rank, const MoeShape& shape, Stream& stream);

  const Tensor& up() const { return up_; }      // (experts, 2 * width, hidden)
  const Tensor& down() const { return down_; }  // (experts, hidden, width)
  // (2 * shared_width, hidden), (hidden, shared_width); without elements where none are shared
  const Tensor& shared_up() const { return shared_up_; }
  const Tensor& shared_down() const { return shared_down_; }

 private:
  Tensor up_, down_, shared_up_, shared_down_;
  std::vector<Buffer> memory_;
};

// Owns them, of one batch. Matrices that collectives send and receive are the session's memory. Of
// all_gather, X as it is sent and its routing are this rank's rows of what is received.
class MoeMemory {
 public:
  // Collective. Rows as `most`. Without a session only the experts' matrices. `batch`: a number
  // under kMostBatches, by which the rows of X differ.
  MoeMemory(Rank& rank, const MoeShape& shape, ExchangeKind kind, CollectiveSession* session,
            const MoeSizes& most, std::size_t batch);

  // Of a call of these sizes: its rows are the first ones.
  MoeTensors tensors(const MoeSizes& sizes) const;

  // New rows of X, number `fills`; results and what is received are poisoned.
  void fill(int rank, std::uint64_t fills, Stream& stream) const;
  // Of a rank's X, and of the gradient of its result.
  Fill input(int rank, std::uint64_t fills) const;
  Fill gradient(int rank, std::uint64_t fills) const;

 private:
  void allocate_experts(Rank& rank, const MoeSizes& most);
  void allocate_shared(Rank& rank);
  void allocate_expert_gradients(Rank& rank, const MoeSizes& most);
  void allocate_shared_gradients(Rank& rank);
  void allocate_row_gradients(Rank& rank, CollectiveSession& session, const MoeSizes& most);
  void allocate_rows(Rank& rank, CollectiveSession& session, const MoeSizes& most);
  void allocate_sent(Rank& rank, CollectiveSession& session, const MoeSizes::OfHop& most,
                     MoeHop& hop);
  // Of what goes to experts, perhaps in fp8.
  Tensor rows_to_send(Rank& rank, CollectiveSession& session, std::int64_t rows);
  std::int64_t columns_of_routing() const {
    return kind_ == ExchangeKind::per_expert ? 1 : 2 * shape_.chosen;
  }
  Tensor device_memory(Rank& rank, std::int64_t rows, std::int64_t columns, DType dtype);
  Tensor session_memory(Rank& rank, CollectiveSession& session, std::int64_t rows,
                        std::int64_t columns, DType dtype);

  const MoeShape shape_;
  const ExchangeKind kind_;
  const std::size_t batch_;
  MoeTensors all_;
  std::vector<std::unique_ptr<CollectiveMemory>> memory_;
};

}  // namespace duet
