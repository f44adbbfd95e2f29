#include "training/models/split_vocabulary.h"

namespace duet {

SplitVocabulary::SplitVocabulary(MemoryPlan& memory, const TensorShard& shard,
                                 const VocabularyPart& part, std::int64_t count, std::int64_t piece)
    : shard_(shard), part_(part), count_(count) {
  const auto add = [&](const char* name, std::int64_t rows) {
    return memory.add(MemoryUse::workspace, name, rows, CrossEntropySums::kFields);
  };
  sums_ = add("loss sums", piece);
  all_sums_ = add("loss sums of all ranks", shard.ranks * piece);
}

// Of the addends of a row, that of one rank has the token, and that of rank 0 the position.
void SplitVocabulary::embed(Operations& operations, Stream& stream, Embedding whole,
                            RowExchange& exchange, const SplitWorkspace& workspace) const {
  const Tensor own = whole.x;
  whole.x = workspace.partial;
  whole.token_table = values_of(whole.token_table);
  whole.part = part_;
  if (shard_.rank > 0) whole.position_table = {};
  operations.run(stream, whole);
  exchange.scatter(stream, workspace.partial, own, {});
}

void SplitVocabulary::embed_backward(Operations& operations, Stream& stream,
                                     EmbeddingBackward whole, RowExchange& exchange,
                                     const SplitWorkspace& workspace) const {
  exchange.gather(stream, whole.dx, workspace.gathered, {});
  whole.dx = workspace.gathered;
  whole.dtoken_table = values_of(whole.dtoken_table);
  whole.part = part_;
  operations.run(stream, whole);
}

void SplitVocabulary::cross_entropy(Operations& operations, Stream& stream,
                                    const CrossEntropyPiece& whole, RowExchange& exchange) const {
  const std::int64_t rows = whole.logits.rows;
  CrossEntropySums sums{whole.logits, count_, whole.targets, part_, rows_of(sums_, {0, rows})};
  const Tensor all = rows_of(all_sums_, {0, shard_.ranks * rows});
  operations.run(stream, sums);
  exchange.gather(stream, sums.sums, all, {});
  sums.sums = all;
  operations.run(stream, CrossEntropyOfPart{sums, whole.batch_rows, whole.row_losses});
}

}  // namespace duet
