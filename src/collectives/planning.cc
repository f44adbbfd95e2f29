#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <utility>

#include "collectives/engine.h"
#include "collectives/forwarding_plan.h"
#include "collectives/partition.h"
#include "core/packing.h"
#include "core/profiler_range.h"
#include "core/units.h"
#include "device/collective_kernel.h"

namespace duet {
namespace {

std::string in_words(const Neighbors& neighbors) {
  const auto& [ring, alternating, computes, beside] = neighbors;
  if (ring == 0 && !alternating && !computes) return "";
  return fmt::format(", rings of {}, alternating {}, computes {}, beside {}", ring, alternating,
                     computes, beside);
}

std::string in_words(const MatrixRows& rows) {
  if (rows.columns == 0) return "";
  return fmt::format(", rows of {} in {} ranges, sums {}, {} streams{}", rows.columns, rows.ranges,
                     name(rows.sums), rows.streams, rows.joined ? ", joined" : "");
}

std::string in_words(const SumNorm& norm) {
  if (norm.columns == 0) return "";
  return fmt::format(", normalised in rows of {}, epsilon {}", norm.columns, norm.epsilon);
}

std::string in_words(const Collective& c) {
  return fmt::format("{} of {} x {}, {}, root {}, counts [{}]{}{}{}", name(c.kind), c.count,
                     name(c.dtype), name(c.op), c.root, fmt::join(c.counts, ","),
                     in_words(c.neighbors), in_words(c.rows), in_words(c.norm));
}

// The address range of a rank's buffer. Addresses are comparable only within one process.
struct BufferRange {
  int process = 0;
  std::uintptr_t begin = 0;
  std::uint64_t bytes = 0;

  bool overlaps(const BufferRange& other) const {
    return process == other.process && bytes > 0 && other.bytes > 0 &&
           begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

struct RankBuffers {
  BufferRange send, recv;
};

std::string text_of(const Rank& rank, const CollectiveBuffers& buffers) {
  const Processes* processes = rank.team.processes();
  return fmt::format("{} {} {} {} {}", processes == nullptr ? 0 : processes->index(),
                     reinterpret_cast<std::uintptr_t>(buffers.send.data), buffers.send.bytes,
                     reinterpret_cast<std::uintptr_t>(buffers.recv.data), buffers.recv.bytes);
}

RankBuffers rank_buffers_of(const std::string& text) {
  std::istringstream in(text);
  RankBuffers buffers;
  in >> buffers.send.process >> buffers.send.begin >> buffers.send.bytes >> buffers.recv.begin >>
      buffers.recv.bytes;
  buffers.recv.process = buffers.send.process;
  return buffers;
}

// Ranks of one process may send from the same memory. No rank may receive into memory from which
// another rank sends or into which it receives.
void require_apart(const std::vector<RankBuffers>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (std::size_t other = 0; other < all.size(); ++other) {
      if (other == rank) continue;
      const bool sends = all[rank].recv.overlaps(all[other].send);
      if (!sends && (rank > other || !all[rank].recv.overlaps(all[other].recv))) continue;
      throw BadArgument(
          fmt::format("expected buffers of each rank's own: the receive buffer of rank {} overlaps "
                      "the {} buffer of rank {}",
                      rank, sends ? "send" : "receive", other));
    }
  }
}

// Extracts request() of all ranks from the gathered texts. Throws BadArgument where the ranks ask
// for different collectives or their buffers overlap.
std::vector<std::string> requests_of(const std::vector<std::string>& all) {
  std::vector<std::string> requests;
  std::vector<RankBuffers> places;
  std::string first;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::vector<std::string> fields = unpack(all[rank]);
    const std::string& theirs = fields.at(0);
    if (rank == 0) first = theirs;
    if (theirs != first) {
      throw BadArgument(fmt::format("ranks ask for different things: rank 0 for {}, rank {} for {}",
                                    first, rank, theirs));
    }
    places.push_back(rank_buffers_of(fields.at(1)));
    requests.push_back(fields.at(2));
  }
  require_apart(places);
  return requests;
}

bool overlap(const Span& a, const Span& b) {
  return a.bytes > 0 && b.bytes > 0 && a.data < b.data + b.bytes && b.data < a.data + a.bytes;
}

Span used(const Rank& rank, CollectiveKind kind, const Span& span, std::uint64_t bytes,
          const char* what) {
  if (bytes == 0 || (span.bytes >= bytes && span.owner == &rank.device))
    return span.slice(0, bytes);
  const bool foreign = span.bytes > 0 && span.owner != &rank.device;
  throw BadArgument(fmt::format("{}: {} buffer: expected {} bytes of {}, not {}{}", name(kind),
                                what, bytes, rank.device.info().name, span.bytes,
                                foreign ? " of another device" : ""));
}

// Send and receive buffer may overlap only as in_place_offset() defines it. With any other overlap
// a rank would overwrite data that it has still to send or has already received.
void check_overlap(const Rank& rank, const Collective& c, const CollectiveBuffers& buffers) {
  if (!in_place(buffers)) return;
  if (!has_in_place(c.kind)) {
    throw BadArgument(fmt::format("{}: expected buffers that do not overlap", name(c.kind)));
  }
  const bool in_send =
      c.kind == CollectiveKind::reduce_scatter || c.kind == CollectiveKind::scatter;
  const Span &inner = in_send ? buffers.recv : buffers.send,
             &outer = in_send ? buffers.send : buffers.recv;
  const auto expected = static_cast<std::ptrdiff_t>(in_place_offset(c, rank.index));
  const std::ptrdiff_t offset = inner.data - outer.data;
  if (offset == expected) return;
  throw BadArgument(fmt::format(
      "{}: expected buffers that do not overlap or, in place, the {} buffer at byte {} of the {} "
      "buffer, not at {}",
      name(c.kind), in_send ? "receive" : "send", expected, in_send ? "send" : "receive", offset));
}

void check_norm_buffers(const Collective& c, const CollectiveBuffers& own) {
  const Span &residual = own.residual, &updated = own.updated;
  bool apart = !overlap(residual, updated) || residual.data == updated.data;
  for (const Span& span : {residual, updated, own.weight})
    apart = apart && !overlap(span, own.send) && !overlap(span, own.recv);
  if (apart && !overlap(residual, own.weight) && !overlap(updated, own.weight)) return;
  throw BadArgument(fmt::format(
      "{}: expected residual, updated residual and weight that overlap neither the send nor the "
      "receive buffer nor each other, but for an update in place",
      name(c.kind)));
}

// The caller's buffers, cut to what the collective uses. Checks that each is large enough and of
// the rank's own device, and that the two are disjoint or in place. Throws BadArgument.
CollectiveBuffers checked_buffers(const Rank& rank, const Collective& collective,
                                  const CollectiveBuffers& buffers) {
  check(collective, rank.size);
  const std::uint64_t sent = send_bytes(collective, rank.index, rank.size);
  const std::uint64_t received = recv_bytes(collective, rank.index, rank.size);
  CollectiveBuffers own{used(rank, collective.kind, buffers.send, sent, "send"),
                        used(rank, collective.kind, buffers.recv, received, "receive")};
  check_overlap(rank, collective, own);
  if (collective.norm.columns == 0) return own;
  const std::uint64_t row = collective.norm.columns * size_of(collective.dtype);
  own.residual = used(rank, collective.kind, buffers.residual, received, "residual");
  own.updated = used(rank, collective.kind, buffers.updated, received, "updated residual");
  own.weight = used(rank, collective.kind, buffers.weight, row, "weight");
  check_norm_buffers(collective, own);
  return own;
}

// Multiplies all rows behind an all_gather, or before a reduction, by a plan that knows of no rows.
class RowsAtOnce : public ForwardingPlan {
 public:
  RowsAtOnce(const Rank& rank, std::unique_ptr<CollectivePlan> plan, const Collective& collective,
             const CollectiveBuffers& buffers)
      : ForwardingPlan(std::move(plan)),
        team_(rank.team),
        rank_(rank.index),
        gathers_(collective.kind == CollectiveKind::all_gather) {
    all_.place = gathers_ ? buffers.recv : buffers.send;
    all_.rows.count = all_.place.bytes / row_bytes(collective);
  }

  void enqueue_rows(Stream& stream, const MultiplyRows& multiply) override {
    if (!gathers_) multiply_all(stream, multiply);
    plan_->enqueue(stream);
    if (gathers_) multiply_all(stream, multiply);
  }

 private:
  // Others wait for what the caller's function did not make.
  void multiply_all(Stream& stream, const MultiplyRows& multiply) {
    if (all_.rows.count == 0) return;
    try {
      multiply(stream, all_);
    } catch (const std::exception& error) {
      team_.fail(rank_, error.what());
      throw;
    } catch (...) {
      team_.fail(rank_, "rows could not be multiplied");
      throw;
    }
  }

  Team& team_;
  const int rank_;
  const bool gathers_;
  CallRows all_;
};

// Normalises behind a plan that sums.
class NormBehind : public ForwardingPlan {
 public:
  NormBehind(const Rank& rank, std::unique_ptr<CollectivePlan> plan, const Collective& collective,
             const CollectiveBuffers& buffers)
      : ForwardingPlan(std::move(plan)),
        norm_(rank.device.prepare(NormKernel{
            {buffers.recv}, buffers.recv, row_norm(collective.norm, buffers), collective.dtype})) {}

  void enqueue(Stream& stream) override {
    plan_->enqueue(stream);
    stream.launch(*norm_);
  }
  void enqueue_rows(Stream& stream, const MultiplyRows& multiply) override {
    plan_->enqueue_rows(stream, multiply);
    stream.launch(*norm_);
  }
  void enqueue_observed(Stream& stream, StepObserver& observer) override {
    plan_->enqueue_observed(stream, observer);
    observer.begins(stream, 0, "norm");
    stream.launch(*norm_);
    observer.ends(stream);
  }
  bool normalises() const override { return true; }

 private:
  std::unique_ptr<PreparedKernel> norm_;
};

// Its calls are ranges of a profiler: "all_reduce 64 MiB".
class InRanges : public ForwardingPlan {
 public:
  InRanges(std::unique_ptr<CollectivePlan> plan, const Collective& collective, int ranks)
      : ForwardingPlan(std::move(plan)),
        text_(fmt::format("{} {}", name(collective.kind),
                          format_bytes(size_bytes(collective, ranks)))) {}

  void enqueue(Stream& stream) override {
    const ProfilerRange range([this] { return text_; });
    plan_->enqueue(stream);
  }
  void enqueue_beside(Stream& stream, SideStreams& side, const CallCompute& compute) override {
    const ProfilerRange range([this] { return text_; });
    plan_->enqueue_beside(stream, side, compute);
  }
  void enqueue_rows(Stream& stream, const MultiplyRows& multiply) override {
    const ProfilerRange range([this] { return text_; });
    plan_->enqueue_rows(stream, multiply);
  }
  bool takes_buffers() const override { return plan_->takes_buffers(); }
  void enqueue_at(Stream& stream, const BufferAddresses& buffers) override {
    const ProfilerRange range([this] { return text_; });
    plan_->enqueue_at(stream, buffers);
  }

 private:
  const std::string text_;
};

}  // namespace

RowNorm row_norm(const SumNorm& norm, const CollectiveBuffers& buffers) {
  return {buffers.residual, buffers.updated, buffers.weight, norm.columns, norm.epsilon};
}

bool in_place(const CollectiveBuffers& buffers) { return overlap(buffers.send, buffers.recv); }

std::unique_ptr<CollectivePlan> CollectiveSession::plan(Rank& rank, const Collective& collective,
                                                        const CollectiveBuffers& buffers) {
  std::unique_ptr<CollectivePlan> made;
  rank.team.all_or_none(rank, "all ranks to have planned a collective", [&] {
    CollectiveBuffers own;
    const Team::Make bring = [&] {
      own = checked_buffers(rank, collective, buffers);
      if (const auto skipped = unsupported(collective, in_place(own))) {
        throw Unavailable(fmt::format("{}: {}", name(collective.kind), skipped->reason));
      }
      return pack({in_words(collective), text_of(rank, own), request(rank, collective, own)});
    };
    const auto requests = rank.team.gather_as<std::vector<std::string>>(
        rank, bring, "all ranks to plan a collective", requests_of);
    made = make_plan(rank, collective, own, *requests);
    if (collective.rows.columns > 0 && !made->multiplies_rows())
      made = std::make_unique<RowsAtOnce>(rank, std::move(made), collective, own);
    if (collective.norm.columns > 0 && !made->normalises())
      made = std::make_unique<NormBehind>(rank, std::move(made), collective, own);
    if (shows_profiler_ranges())
      made = std::make_unique<InRanges>(std::move(made), collective, rank.size);
  });
  return made;
}

}  // namespace duet
