// The token table and the head of a model whose ranks divide its vocabulary.
#pragma once

#include "training/models/memory_plan.h"
#include "training/models/parameters.h"
#include "training/models/split_linear.h"
#include "training/operations/operations.h"

namespace duet {

// Each call but the constructor enqueues and returns. A token's row of activations is in one rank's
// range; its row of the table, and its column of logits, in one rank's part.
class SplitVocabulary {
 public:
  // Lays out memory for the losses of pieces of at most `piece` tokens. `count`: tokens of `part`,
  // which is this rank's.
  SplitVocabulary(MemoryPlan& memory, const TensorShard& shard, const VocabularyPart& part,
                  std::int64_t count, std::int64_t piece);

  // As Model::begin_workspace().
  void begin_workspace(Operations& operations, Stream& stream) const {
    operations.run(stream, FillValue{1, all_sums_});
  }
  // As Embedding and EmbeddingBackward, with this rank's part of the table, of all tokens; x and dx
  // are this rank's rows. All ranks write the whole gradient of the positions.
  void embed(Operations& operations, Stream& stream, Embedding whole, RowExchange& exchange,
             const SplitWorkspace& workspace) const;
  void embed_backward(Operations& operations, Stream& stream, EmbeddingBackward whole,
                      RowExchange& exchange, const SplitWorkspace& workspace) const;
  // As CrossEntropyPiece, of this rank's columns of logits.
  void cross_entropy(Operations& operations, Stream& stream, const CrossEntropyPiece& whole,
                     RowExchange& exchange) const;

 private:
  // The rows of a table that have values.
  Tensor values_of(const Tensor& table) const { return rows_of(table, {0, count_}); }

  TensorShard shard_;
  VocabularyPart part_;
  std::int64_t count_;
  Tensor sums_, all_sums_;  // of a piece: of this rank, of all ranks
};

}  // namespace duet
