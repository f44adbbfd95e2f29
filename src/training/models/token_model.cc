#include "training/models/token_model.h"

#include <utility>

namespace duet {

TokenModel::TokenModel(Device& device, Operations& operations, Parameters parameters,
                       std::int64_t vocabulary)
    : Model(device, operations, std::move(parameters)), vocabulary_(vocabulary) {}

void TokenModel::lay_out_tokens(std::int64_t count) {
  tokens_ = memory_.add(MemoryUse::input, "tokens", 1, count, DType::int32);
  targets_ = memory_.add(MemoryUse::input, "targets", 1, count, DType::int32);
  row_losses_ = memory_.add(MemoryUse::input, "row losses", 1, count);
}

void TokenModel::make_random_input(Stream& stream, std::uint64_t batch) {
  operations_.run(stream, RandomTokens{state(), vocabulary_, 2 * batch, tokens_});
  operations_.run(stream, RandomTokens{state(), vocabulary_, 2 * batch + 1, targets_});
}

}  // namespace duet
