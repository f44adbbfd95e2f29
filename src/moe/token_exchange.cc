#include "moe/token_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "communicator/native_streams.h"
#include "core/deadline.h"
#include "core/error.h"
#include "training/operations/operations.h"

namespace duet {
namespace {

std::string text_of(const TokenExchangeOptions& o) {
  return fmt::format("token exchange of {} tokens of {} {}, {} of {} experts", o.tokens, o.hidden,
                     name(o.dtype), o.chosen, o.experts);
}

std::int64_t most_rows_of(const TokenExchangeOptions& o, std::int64_t ranks) {
  return ranks * o.tokens * std::min(o.chosen, o.experts / ranks);
}

void check(const TokenExchangeOptions& o, std::int64_t ranks, const DeviceInfo& device) {
  const auto refuse = [&](const std::string& expected) {
    throw BadArgument(fmt::format("{}: expected {}", text_of(o), expected));
  };
  if (o.tokens < 1 || o.hidden < 1) refuse("a token and an element of its row, or more");
  if (o.experts < 1 || o.experts % ranks != 0)
    refuse(fmt::format("experts in a multiple of the {} ranks", ranks));
  const std::int64_t most = std::min(o.experts, kMostChosenExperts);
  if (o.chosen < 1 || o.chosen > most) refuse(fmt::format("1 to {} experts of a token", most));
  constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();
  if (o.tokens > kMostRows / (ranks * o.chosen))
    refuse(fmt::format("at most {} rows of all ranks' tokens and choices", kMostRows));
  if (o.dtype == DType::fp32) return;
  if (device.is_cpu) refuse(fmt::format("fp32 on {}", device.name));
  if (o.dtype != DType::bf16) refuse("bf16 or fp32");
}

Collective collective_of(CollectiveKind kind, const Tensor& own) {
  Collective one;
  one.kind = kind;
  one.dtype = own.dtype;
  one.count = static_cast<std::uint64_t>(own.count());
  return one;
}

}  // namespace

struct TokenExchange::Impl {
  Impl(LocalRank& rank, const TokenExchangeOptions& o)
      : options(o),
        own_rank(rank),
        device(rank.device()),
        natives(device),
        own_experts(o.experts / rank.size()),
        first_expert(rank.index() * own_experts),
        operations(make_operations(device)) {
    allocate(rank);
    try_operations();
    gather_routing = plan(rank, CollectiveKind::all_gather, routing, all_routing);
    gather_tokens = plan(rank, CollectiveKind::all_gather, tokens, all_tokens);
    add_sums = plan(rank, CollectiveKind::reduce_scatter, sums, out);
  }

  void allocate(LocalRank& rank) {
    const std::int64_t all = rank.size() * options.tokens,
                       most = most_rows_of(options, rank.size());
    const RowRange own{rank.index() * options.tokens, (rank.index() + 1) * options.tokens};
    all_tokens = shared(rank, {{}, all, options.hidden, options.dtype});
    sums = shared(rank, all_tokens);
    all_routing = shared(rank, {{}, all, 2 * options.chosen, DType::int32});
    tokens = rows_of(all_tokens, own);
    out = rows_of(sums, own);
    routing = rows_of(all_routing, own);
    index = local({{}, 1, most, DType::int32});
    places = local({{}, all, options.chosen, DType::int32});
    offsets = local({{}, 1, own_experts + 1, DType::int32});
    rows = local({{}, most, options.hidden, options.dtype});
    results = options.results_over_rows ? rows : local(rows);
  }

  // Memory that other ranks access.
  Tensor shared(LocalRank& rank, Tensor made) {
    memory.push_back(rank.allocate(made.bytes()));
    made.span = memory.back()->span().slice(0, made.bytes());
    return made;
  }
  Tensor local(Tensor made) {
    memory.push_back(std::make_unique<PlainMemory>(device.allocate(made.bytes())));
    made.span = memory.back()->span().slice(0, made.bytes());
    return made;
  }

  // Where the device cannot take such rows, this throws; and a kernel's first launch, which may
  // wait for the device and so for peers, is not within a call. No token has an expert here.
  void try_operations() {
    const std::unique_ptr<Stream> stream = device.make_stream();
    stream->fill(all_routing.span, {FillKind::constant, 0xFF});
    sort(*stream);
    weigh(*stream);
    stream->synchronize(kDefaultDeadlineSeconds);
  }

  CollectiveCall plan(LocalRank& rank, CollectiveKind kind, const Tensor& from, const Tensor& to) {
    const Tensor& own = from.rows < to.rows ? from : to;
    return rank.plan(collective_of(kind, own), from.span, to.span);
  }

  void dispatch(Stream& stream) {
    gather_routing.enqueue(stream);
    gather_tokens.enqueue(stream);
    told([&] { sort(stream); });
  }

  void sort(Stream& stream) {
    operations->run(stream, GroupRows{all_routing,
                                      options.chosen,
                                      first_expert,
                                      own_experts,
                                      1,
                                      false,
                                      index,
                                      {},
                                      places,
                                      offsets});
    Tensor count = offsets;
    count.columns = 1;
    count.span = offsets.span.slice(offsets.bytes() - count.bytes(), count.bytes());
    operations->run(stream, GatherRows{all_tokens, index, rows, count});
  }

  void combine(Stream& stream) {
    told([&] { weigh(stream); });
    add_sums.enqueue(stream);
  }

  void weigh(Stream& stream) {
    operations->run(stream, CombineRows{results, places, all_routing, sums});
  }

  // What fails beside the collectives of a call leaves peers waiting for its rest: all are told.
  template <typename Enqueue>
  void told(const Enqueue& enqueue) {
    try {
      enqueue();
    } catch (const std::exception& error) {
      own_rank.fail(error.what());
      throw;
    }
  }

  void choose(Stream& stream, const Tensor& logits, bool normalised) {
    const Tensor own = rows_of(routing, {0, logits.rows});
    told([&] {
      if (logits.rows > 0) operations->run(stream, ChooseExperts{logits, normalised, own});
    });
    leave_out(stream, logits.rows);
  }

  void leave_out(Stream& stream, std::int64_t first) {
    if (first < 0 || first > options.tokens) {
      throw BadArgument(fmt::format("{} of {} tokens: expected 0 to all", first, options.tokens));
    }
    if (first == options.tokens) return;
    const Tensor left = rows_of(routing, {first, options.tokens});
    told([&] { stream.fill(left.span, {FillKind::constant, 0xFF}); });
  }

  // Before the first of several things is enqueued.
  void require_own(Stream& stream) const {
    if (&stream.device() == &device) return;
    throw BadArgument(fmt::format("expected a stream of {}, not of {}", device.info().name,
                                  stream.device().info().name));
  }

  const TokenExchangeOptions options;
  const LocalRank own_rank;
  Device& device;
  NativeStreams natives;
  const std::int64_t own_experts, first_expert;
  std::vector<std::unique_ptr<CollectiveMemory>> memory;
  Tensor all_tokens, tokens, all_routing, routing;  // of all ranks, and of them this one's
  Tensor index, places, offsets;                    // GroupRows
  Tensor rows, results;
  Tensor sums, out;  // of all ranks' tokens over this rank's experts; this rank's over all
  std::unique_ptr<Operations> operations;
  CollectiveCall gather_routing, gather_tokens, add_sums;
};

TokenExchange::TokenExchange(LocalRank& rank, const TokenExchangeOptions& options) {
  const std::string what = fmt::format("all ranks to make a {}", text_of(options));
  rank.all_or_none(what, [&] {
    check(options, rank.size(), rank.device().info());
    rank.barrier(what);
    impl_ = std::make_unique<Impl>(rank, options);
  });
}
TokenExchange::TokenExchange(TokenExchange&& other) noexcept = default;
TokenExchange& TokenExchange::operator=(TokenExchange&& other) noexcept = default;
TokenExchange::~TokenExchange() = default;

TokenExchange::Impl& TokenExchange::impl() const {
  if (impl_ == nullptr) throw BadArgument("a TokenExchange that was moved away or retired");
  return *impl_;
}

void TokenExchange::retire(LocalRank& rank) {
  for (CollectiveCall* each : {&impl().gather_routing, &impl().gather_tokens, &impl().add_sums})
    rank.retire(std::move(*each));
  impl_.reset();
}

Span TokenExchange::tokens() const { return impl().tokens.span; }
Span TokenExchange::routing() const { return impl().routing.span; }
Span TokenExchange::rows() const { return impl().rows.span; }
Span TokenExchange::offsets() const { return impl().offsets.span; }
Span TokenExchange::results() const { return impl().results.span; }
Span TokenExchange::out() const { return impl().out.span; }
Span TokenExchange::all_routing() const { return impl().all_routing.span; }
Span TokenExchange::places() const { return impl().places.span; }
std::int64_t TokenExchange::most_rows() const { return impl().rows.rows; }
std::int64_t TokenExchange::own_experts() const { return impl().own_experts; }
std::int64_t TokenExchange::first_expert() const { return impl().first_expert; }

void TokenExchange::choose(Stream& stream, const Span& logits, bool normalised) {
  Impl& own = impl();
  own.require_own(stream);
  Tensor of{logits, own.options.tokens, own.options.experts, DType::fp32};
  const std::uint64_t row = of.bytes() / static_cast<std::uint64_t>(of.rows);
  if (logits.bytes > of.bytes() || logits.bytes % row != 0) {
    throw BadArgument(
        fmt::format("logits of {} bytes: expected fp32 of {} experts and 0 to {} tokens: {} bytes",
                    logits.bytes, of.columns, of.rows, of.bytes()));
  }
  of.rows = static_cast<std::int64_t>(logits.bytes / row);
  own.choose(stream, of, normalised);
}

void TokenExchange::choose(void* native_stream, const Span& logits, bool normalised) {
  choose(impl().natives.wrapped(native_stream), logits, normalised);
}

void TokenExchange::choose(void* native_stream, const float* logits, bool normalised) {
  Impl& own = impl();
  const Tensor of{{}, own.options.tokens, own.options.experts, DType::fp32};
  choose(native_stream, own.device.adopt(const_cast<float*>(logits), of.bytes()), normalised);
}

void TokenExchange::leave_out(Stream& stream, std::int64_t first) {
  impl().require_own(stream);
  impl().leave_out(stream, first);
}
void TokenExchange::leave_out(void* native_stream, std::int64_t first) {
  impl().leave_out(impl().natives.wrapped(native_stream), first);
}

void TokenExchange::dispatch(Stream& stream) {
  impl().require_own(stream);
  impl().dispatch(stream);
}
void TokenExchange::dispatch(void* native_stream) {
  impl().dispatch(impl().natives.wrapped(native_stream));
}

void TokenExchange::combine(Stream& stream) {
  impl().require_own(stream);
  impl().combine(stream);
}
void TokenExchange::combine(void* native_stream) {
  impl().combine(impl().natives.wrapped(native_stream));
}

std::vector<std::int32_t> packed_routing(const std::vector<std::int32_t>& experts,
                                         const std::vector<float>& weights, std::int64_t chosen) {
  const auto columns = static_cast<std::size_t>(std::max<std::int64_t>(chosen, 0));
  if (columns == 0 || experts.size() != weights.size() || experts.size() % columns != 0) {
    throw BadArgument(fmt::format("{} experts and {} weights: expected as many, a multiple of {}",
                                  experts.size(), weights.size(), chosen));
  }
  std::vector<std::int32_t> packed(2 * experts.size());
  for (std::size_t at = 0; at < experts.size(); at += columns) {
    std::copy_n(&experts[at], columns, &packed[2 * at]);
    std::memcpy(&packed[2 * at + columns], &weights[at], columns * sizeof(float));
  }
  return packed;
}

}  // namespace duet
