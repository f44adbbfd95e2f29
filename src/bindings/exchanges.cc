// Tokens and their experts.
#include <fmt/format.h>

#include <utility>

#include "bindings/handles.h"
#include "bindings/status.h"

namespace duet::bindings {
namespace {

// Memory of a TokenExchange, which owns it.
class ExchangeMemory : public CollectiveMemory {
 public:
  explicit ExchangeMemory(const Span& span) : span_(span) {}
  Span span() const override { return span_; }

 private:
  Span span_;
};

TokenExchangeOptions options_of(const duet_exchange_options* given) {
  const auto read = read_struct(given, "duet_exchange_options");
  if (read.dtype != DUET_FP32 && read.dtype != DUET_BF16) {
    throw BadArgument(fmt::format(
        "duet_exchange_options: dtype {}: expected DUET_FP32 or DUET_BF16", read.dtype));
  }
  return {read.tokens,
          read.hidden,
          read.experts,
          read.chosen,
          read.dtype == DUET_FP32 ? DType::fp32 : DType::bf16,
          read.results_over_rows != 0};
}

duet_memory* show(duet_exchange& exchange, const Span& span) {
  exchange.memories.push_back(
      std::make_unique<duet_memory>(exchange.rank, std::make_unique<ExchangeMemory>(span)));
  return exchange.memories.back().get();
}

void describe(duet_exchange& made) {
  const TokenExchange& own = *made.exchange;
  duet_exchange_info& info = made.info;
  info.tokens = show(made, own.tokens());
  info.routing = show(made, own.routing());
  info.rows = show(made, own.rows());
  info.offsets = show(made, own.offsets());
  info.results = show(made, own.results());
  info.out = show(made, own.out());
  info.all_routing = show(made, own.all_routing());
  info.places = show(made, own.places());
  info.most_rows = own.most_rows();
  info.own_experts = own.own_experts();
  info.first_expert = own.first_expert();
}

TokenExchange& opened(duet_exchange* exchange, const char* what) {
  require_pointer(exchange, what);
  return *exchange->exchange;
}

// Logits of so many tokens, of Duet's memory or the device's own.
Span logits_of(duet_exchange& exchange, const float* logits, std::int64_t tokens) {
  if (tokens < 0) throw BadArgument(fmt::format("{} tokens: expected 0 or more", tokens));
  return exchange.rank.span(logits, static_cast<std::uint64_t>(tokens) *
                                        static_cast<std::uint64_t>(exchange.experts) *
                                        sizeof(float));
}

}  // namespace
}  // namespace duet::bindings

using duet::bindings::guarded;
using duet::bindings::opened;
using duet::bindings::require_pointer;

duet_status duet_exchange_open(duet_rank* rank, const duet_exchange_options* options,
                               duet_exchange** exchange) noexcept {
  return guarded([&] {
    require_pointer(rank, "duet_exchange_open: rank");
    require_pointer(exchange, "duet_exchange_open: exchange");
    *exchange = nullptr;
    auto made = std::make_unique<duet_exchange>(*rank);
    rank->run([&](duet::LocalRank& own) {
      own.all_or_none("all ranks to have opened an exchange of tokens", [&] {
        const duet::TokenExchangeOptions read = duet::bindings::options_of(options);
        made->experts = read.experts;
        made->exchange.emplace(own, read);
      });
    });
    duet::bindings::describe(*made);
    *exchange = made.release();
  });
}

duet_status duet_exchange_get_info(duet_exchange* exchange, duet_exchange_info* info) noexcept {
  return guarded([&] {
    require_pointer(exchange, "duet_exchange_get_info: exchange");
    duet::bindings::write_struct(info, exchange->info, "duet_exchange_info");
  });
}

duet_status duet_exchange_choose(duet_exchange* exchange, const float* logits, int64_t tokens,
                                 int32_t normalised, void* native_stream) noexcept {
  return guarded([&] {
    opened(exchange, "duet_exchange_choose: exchange")
        .choose(native_stream, duet::bindings::logits_of(*exchange, logits, tokens),
                normalised != 0);
  });
}

duet_status duet_exchange_choose_on(duet_exchange* exchange, const float* logits, int64_t tokens,
                                    int32_t normalised, duet_stream* stream) noexcept {
  return guarded([&] {
    duet::TokenExchange& own = opened(exchange, "duet_exchange_choose_on: exchange");
    require_pointer(stream, "duet_exchange_choose_on: stream");
    own.choose(stream->stream, duet::bindings::logits_of(*exchange, logits, tokens),
               normalised != 0);
  });
}

duet_status duet_exchange_leave_out(duet_exchange* exchange, int64_t first,
                                    void* native_stream) noexcept {
  return guarded([&] {
    opened(exchange, "duet_exchange_leave_out: exchange").leave_out(native_stream, first);
  });
}

duet_status duet_exchange_leave_out_on(duet_exchange* exchange, int64_t first,
                                       duet_stream* stream) noexcept {
  return guarded([&] {
    duet::TokenExchange& own = opened(exchange, "duet_exchange_leave_out_on: exchange");
    require_pointer(stream, "duet_exchange_leave_out_on: stream");
    own.leave_out(stream->stream, first);
  });
}

duet_status duet_exchange_dispatch(duet_exchange* exchange, void* native_stream) noexcept {
  return guarded(
      [&] { opened(exchange, "duet_exchange_dispatch: exchange").dispatch(native_stream); });
}

duet_status duet_exchange_dispatch_on(duet_exchange* exchange, duet_stream* stream) noexcept {
  return guarded([&] {
    duet::TokenExchange& own = opened(exchange, "duet_exchange_dispatch_on: exchange");
    require_pointer(stream, "duet_exchange_dispatch_on: stream");
    own.dispatch(stream->stream);
  });
}

duet_status duet_exchange_combine(duet_exchange* exchange, void* native_stream) noexcept {
  return guarded(
      [&] { opened(exchange, "duet_exchange_combine: exchange").combine(native_stream); });
}

duet_status duet_exchange_combine_on(duet_exchange* exchange, duet_stream* stream) noexcept {
  return guarded([&] {
    duet::TokenExchange& own = opened(exchange, "duet_exchange_combine_on: exchange");
    require_pointer(stream, "duet_exchange_combine_on: stream");
    own.combine(stream->stream);
  });
}

duet_status duet_exchange_retire(duet_rank* rank, duet_exchange* exchange) noexcept {
  return guarded([&] {
    require_pointer(exchange, "duet_exchange_retire: exchange");
    const std::unique_ptr<duet_exchange> owned(exchange);
    require_pointer(rank, "duet_exchange_retire: rank");
    rank->run([&](duet::LocalRank& own) { owned->exchange->retire(own); });
  });
}

void duet_exchange_drop(duet_exchange* exchange) noexcept { delete exchange; }
