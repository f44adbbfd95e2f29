#include "training/models/decoder_shape.h"

#include <fmt/format.h>

#include <utility>

#include "training/models/find_config.h"

namespace duet {
namespace {

// A rank's share of a range, equal but for the last rows.
RowRange share_of(const RowRange& range, const TensorShard& shard) {
  const auto at = [&](std::int64_t rank) {
    return range.first + range.count() * rank / shard.ranks;
  };
  return {at(shard.rank), at(shard.rank + 1)};
}

// Rows of the whole: of each range a share.
void divide_rows(ModelParameter& about, const std::vector<RowRange>& ranges,
                 const TensorShard& shard) {
  about.part = {about.rows, about.columns, {}, 0, about.columns};
  about.rows = 0;
  for (const RowRange& each : ranges) {
    about.part.ranges.push_back(share_of(each, shard));
    about.rows += about.part.ranges.back().count();
  }
  about.rows_in_memory = about.rows;
}

void divide_columns(ModelParameter& about, const TensorShard& shard) {
  const RowRange columns = share_of({0, about.columns}, shard);
  about.part = {about.rows, about.columns, {{0, about.rows}}, columns.first, columns.count()};
  about.columns = columns.count();
}

// Ranks have equally many rows in memory, so that elements have the same numbers on all.
void divide_vocabulary(ModelParameter& about, const TensorShard& shard) {
  const std::int64_t most = (about.rows + shard.ranks - 1) / shard.ranks;
  divide_rows(about, {{0, about.rows}}, shard);
  about.rows_in_memory = rounded_up(most, kVocabularyRows);
}

bool ends_with(const std::string& text, std::string_view ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

void divide_experts(ModelParameter& about, const TensorShard& shard) {
  if (ends_with(about.name, ".experts_in.weight") || ends_with(about.name, ".experts_out.weight"))
    divide_rows(about, {{0, about.rows}}, shard);
}

void divide(ModelParameter& about, const DecoderShape& whole, const TensorShard& shard) {
  const std::int64_t q = whole.attention.width(), k = whole.attention.key_width();
  const std::int64_t f = whole.ffn_width;
  if (ends_with(about.name, ".qkv.weight")) {
    return divide_rows(about, {{0, q}, {q, q + k}, {q + k, q + 2 * k}}, shard);
  }
  if (ends_with(about.name, ".ffn_in.weight")) {
    return whole.gates ? divide_rows(about, {{0, f}, {f, 2 * f}}, shard)
                       : divide_rows(about, {{0, f}}, shard);
  }
  if (ends_with(about.name, ".attention_out.weight") || ends_with(about.name, ".ffn_out.weight")) {
    return divide_columns(about, shard);
  }
  if (about.name == "token_table" || about.name == "head.weight") divide_vocabulary(about, shard);
}

}  // namespace

std::string why_not_divisible(const DecoderShape& whole, std::int64_t vocabulary, int ranks) {
  const std::pair<std::int64_t, const char*> sizes[] = {{whole.attention.heads, "heads"},
                                                        {whole.attention.key_heads(), "KV heads"},
                                                        {whole.ffn_width, "FFN columns"},
                                                        {whole.tokens(), "tokens of a batch"}};
  for (const auto& [size, what] : sizes) {
    if (size % ranks == 0) continue;
    return fmt::format("{} {}, which {} ranks cannot divide", size, what, ranks);
  }
  if (vocabulary >= ranks) return "";
  return fmt::format("a vocabulary of {}, fewer than {} ranks", vocabulary, ranks);
}

std::string why_experts_not_divisible(const DecoderShape& whole, int ranks) {
  if (whole.experts % ranks == 0) return "";
  return fmt::format("{} experts, which {} ranks cannot divide", whole.experts, ranks);
}

DecoderShape shard_of(DecoderShape whole, const ModelShard& of) {
  whole.expert_shard = of.experts;
  const TensorShard& shard = of.tensor;
  if (shard.ranks == 1) return whole;
  whole.shard = shard;
  whole.ffn_width /= shard.ranks;
  whole.attention.kv_heads = whole.attention.key_heads() / shard.ranks;
  whole.attention.heads /= shard.ranks;
  return whole;
}

std::vector<ModelParameter> shard_of(std::vector<ModelParameter> all, const DecoderShape& whole,
                                     const ModelShard& shard) {
  for (ModelParameter& each : all) {
    if (shard.tensor.ranks > 1) divide(each, whole, shard.tensor);
    if (shard.experts.ranks > 1) divide_experts(each, shard.experts);
  }
  return all;
}

}  // namespace duet
