// Rows of tokens that go to the ranks of the experts that they have chosen, and back: what a layer
// of a mixture of experts does around its experts' products. Public; docs/library.md is its page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/local_rank.h"
#include "core/dtype.h"
#include "device/buffer.h"

namespace duet {

// Equal on all ranks.
struct TokenExchangeOptions {
  std::int64_t tokens = 0;    // of each rank at most
  std::int64_t hidden = 0;    // elements of a token's row; on GPUs a multiple of 8
  std::int64_t experts = 0;   // of all ranks, which divide them in order: a multiple of the ranks
  std::int64_t chosen = 0;    // experts of a token, at most 32
  DType dtype = DType::bf16;  // of rows; bf16 or fp32, on CPUs fp32
  // results() is rows(): for experts whose last product no longer reads the rows.
  bool results_over_rows = false;
};

// The exchange of one rank, for any routing: every rank gets the rows and the routing of all tokens
// (all_gather), sorts the rows of its own experts, and returns sums of their results, which are
// added on the way (reduce_scatter). It owns all memory that is named below, aligned to 256 bytes:
//
//   tokens(), routing()   the caller writes: this rank's rows, and what they have chosen
//   dispatch(stream)      -> rows(), offsets()
//   results()             the caller's experts write: row r is of what stands in row r of rows()
//   combine(stream)       -> out()
//
// All calls only enqueue, allocate nothing after the first call on a stream, and can be captured
// with the engines whose collectives can (docs/library.md). A dispatch and its combine may be on
// different streams, as a call and the next one, if one waits for the other. All ranks make the
// same calls in the same order, which are made by one thread at a time, on a simulated machine
// inside of each(). They throw BadArgument for a stream of another device, and otherwise what
// CollectiveCall::enqueue() throws: an error of a rank fails the calls of all ranks, also outside
// of each().
//
// A rank that has fewer tokens than `tokens`, or none, leaves the others out of a call: choose(),
// leave_out(), or -1 in routing().
//
// Every call gives the same bits for the same contents, with the same number of ranks.
class TokenExchange {
 public:
  // Collective. Throws BadArgument, naming what was expected, for options that are not possible or
  // not equal; Unavailable where the device does not take such rows; OutOfMemory. If one rank
  // throws, all throw, and may go on.
  TokenExchange(LocalRank& rank, const TokenExchangeOptions& options);
  TokenExchange(TokenExchange&& other) noexcept;
  TokenExchange& operator=(TokenExchange&& other) noexcept;
  // The work that all ranks enqueued must be done, because they write into each other's memory:
  // after retire() it is, and after an error in each() when that has returned.
  ~TokenExchange();

  // Collective: ends the exchange and frees its memory. The caller must have synchronised its
  // streams.
  void retire(LocalRank& rank);

  Span tokens() const;  // (tokens, hidden)
  // (tokens, 2 * chosen), int32: in each row the experts, of all ranks' numbers, and behind them
  // the bits of their weights, fp32. A token's experts differ; a number of no expert, such as -1,
  // adds nothing. choose() or packed_routing() write it.
  Span routing() const;
  // Enqueues what a router does: of each token the experts with the largest of `logits` (tokens,
  // experts), fp32, of equal ones the lower expert; their weights are the softmax over all experts,
  // divided by the sum of the chosen ones where `normalised`. Logits of fewer tokens: the others
  // are left out. BadArgument for other logits than those of 0 to `tokens` tokens.
  void choose(Stream& stream, const Span& logits, bool normalised);
  void choose(void* native_stream, const Span& logits, bool normalised);
  void choose(void* native_stream, const float* logits, bool normalised);  // of all tokens
  // Not a native stream: choose(*stream, ...).
  void choose(Stream*, const Span&, bool) = delete;
  void choose(Stream*, const float*, bool) = delete;
  // Enqueues that tokens from the `first` on, 0 to `tokens`, choose no experts: what tokens() has
  // of them is not read, and out() is 0 there.
  void leave_out(Stream& stream, std::int64_t first);
  void leave_out(void* native_stream, std::int64_t first);
  void leave_out(std::nullptr_t, std::int64_t first) {
    leave_out(static_cast<void*>(nullptr), first);
  }
  void leave_out(Stream*, std::int64_t) = delete;  // likewise

  void dispatch(Stream& stream);
  void dispatch(void* native_stream);  // cudaStream_t, hipStream_t, as CollectiveCall::enqueue()
  void dispatch(std::nullptr_t) { dispatch(static_cast<void*>(nullptr)); }
  void dispatch(Stream*) = delete;  // likewise

  // (most_rows(), hidden), of which offsets() says how many are there: the rows of this rank's
  // experts, by expert and then by token of all ranks.
  Span rows() const;
  // int32 (own_experts() + 1): where the rows of each own expert begin, and where the last one's
  // end.
  Span offsets() const;
  Span results() const;  // as rows()
  // For backward passes, of the tokens of all ranks: routing() of each, and int32 (ranks * tokens,
  // chosen), where in rows() a choice stands, or -1. combine() reads both, and the caller may write
  // them between its calls: with weights of 1 the gradients of rows() become those of tokens().
  Span all_routing() const;
  Span places() const;
  // If all tokens choose this rank's experts: ranks * tokens * min(chosen, own_experts()).
  std::int64_t most_rows() const;
  std::int64_t own_experts() const;   // of this rank
  std::int64_t first_expert() const;  // the number of the first one

  void combine(Stream& stream);
  void combine(void* native_stream);
  void combine(std::nullptr_t) { combine(static_cast<void*>(nullptr)); }
  void combine(Stream*) = delete;

  // (tokens, hidden): of each token the sum of its experts' results times their weights: in fp32
  // over the experts of a rank, rounded, then over the ranks as a reduce_scatter adds.
  Span out() const;

 private:
  struct Impl;
  Impl& impl() const;  // throws BadArgument where it was moved away or retired

  std::unique_ptr<Impl> impl_;
};

// What TokenExchange::routing() holds, of (tokens, chosen) experts and weights. Throws BadArgument
// unless both have as many elements, a multiple of `chosen`.
std::vector<std::int32_t> packed_routing(const std::vector<std::int32_t>& experts,
                                         const std::vector<float>& weights, std::int64_t chosen);

}  // namespace duet
