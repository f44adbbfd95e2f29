#include "halo/exchange_session.h"

#include <fmt/format.h>

#include "collectives/session/lanes.h"

namespace duet {
namespace {

Collective exchange_of(const HaloTask& task, int ranks) {
  const HaloGrid& grid = task.grid;
  const bool alone = grid.ranks == 1;
  Collective exchange;
  exchange.kind = CollectiveKind::neighbor_exchange;
  exchange.dtype = DType::fp32;
  exchange.count = static_cast<std::uint64_t>(grid.nx);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto rows = static_cast<std::uint64_t>(rows_of(grid, alone ? 0 : rank).count);
    exchange.counts.push_back(rows * exchange.count);
  }
  exchange.neighbors = {alone ? 1 : 0, true, true, task.overlap};
  return exchange;
}

class ExchangePlan : public HaloPlan {
 public:
  // Collective: every rank constructs it inside Team::each(). Ranks' fields lie in as many bytes,
  // since windows need that.
  ExchangePlan(Rank& rank, const HaloTask& task, CollectiveSession& exchanges)
      : overlap_(task.overlap),
        parts_(rank, task),
        side_(rank.device, CopyLanes{task.overlap ? 1 : 0, false}) {
    const Collective exchange = exchange_of(task, rank.size);
    const std::size_t most = FieldShape{task.grid.nx, rows_of(task.grid, 0).count}.bytes();
    for (const int parity : {0, 1}) {
      memory_[parity] = exchanges.allocate(rank, most);
      const Span rows =
          field(parity).slice(shape().row_bytes(), field(parity).bytes - 2 * shape().row_bytes());
      exchanges_[parity] = exchanges.plan(rank, exchange, {rows, field(parity)});
    }
  }

  const FieldShape& shape() const override { return parts_.shape(); }
  Span field(int parity) const override {
    return memory_[parity]->span().slice(0, shape().bytes());
  }
  std::int64_t partials() const override { return parts_.partials(); }
  bool host_driven() const override { return exchanges_[0]->host_driven(); }

  void enqueue(Stream& stream, const Iteration& iteration) override {
    const int written = 1 - iteration.parity;
    const Now now{parts_, field(iteration.parity), field(written), iteration.partials};
    CallCompute compute;
    compute.before = [&now](Stream& on) {
      now.parts.sweep_before(on, now.from, now.to, now.partials);
    };
    if (overlap_) {
      compute.beside = [&now](Stream& on) {
        now.parts.sweep_beside(on, now.from, now.to, now.partials);
      };
    }
    exchanges_[written]->enqueue_beside(stream, side_, compute);
  }

  std::string algorithm() const override {
    return fmt::format("{}, {}", overlap_ ? "boundary first" : "whole sweep first",
                       exchanges_[0]->algorithm());
  }

 private:
  struct Now {
    const SweepParts& parts;
    Span from, to, partials;
  };

  bool overlap_;
  SweepParts parts_;
  SideStreams side_;
  std::unique_ptr<CollectiveMemory> memory_[2];   // of a field
  std::unique_ptr<CollectivePlan> exchanges_[2];  // in the field of this parity
};

class ExchangeEngine : public HaloEngine {
 public:
  explicit ExchangeEngine(CollectiveEngine& engine) : engine_(engine) {}

  std::string name() const override { return engine_.name(); }
  std::string device_kind() const override { return engine_.device_kind(); }
  // By the library in its usual mode: nccl for nccl-window.
  std::string gathers_by() const override { return name().substr(0, name().find('-')); }
  std::unique_ptr<HaloSession> open(Team& team) override {
    return std::make_unique<ExchangeSession>(team, engine_.open(team));
  }

 private:
  CollectiveEngine& engine_;
};

}  // namespace

SweepParts::SweepParts(Rank& rank, const HaloTask& task)
    : sweeper_(make_sweeper(rank.device)),
      shape_{task.grid.nx, rows_of(task.grid, ring_of(rank, task.grid).index).count} {
  if (!task.overlap) {
    before_.first = {1, shape_.rows + 1};
    return;
  }
  const BoundaryRows boundary = boundary_of(shape_);
  before_ = {boundary.first, boundary.last};
  beside_.first = interior_of(shape_);
}

std::int64_t SweepParts::partials_of(const Rows& rows) const {
  if (rows.first.count() + rows.also.count() == 0) return 0;
  return sweeper_->partials(shape_, rows.first, rows.also);
}

void SweepParts::sweep(Stream& stream, const Span& from, const Span& to, const Rows& rows,
                       const Span& partials) const {
  if (rows.first.count() + rows.also.count() == 0) return;
  sweeper_->sweep(stream, {shape_, from, to, rows.first, rows.also, partials});
}

void SweepParts::sweep_before(Stream& stream, const Span& from, const Span& to,
                              const Span& partials) const {
  const auto bytes = static_cast<std::size_t>(partials_of(before_)) * sizeof(double);
  sweep(stream, from, to, before_, partials.bytes > 0 ? partials.slice(0, bytes) : Span{});
}

void SweepParts::sweep_beside(Stream& stream, const Span& from, const Span& to,
                              const Span& partials) const {
  const auto bytes = static_cast<std::size_t>(partials_of(before_)) * sizeof(double);
  sweep(stream, from, to, beside_,
        partials.bytes > 0 ? partials.slice(bytes, partials.bytes - bytes) : Span{});
}

std::optional<Skipped> ExchangeSession::unsupported(const HaloTask& task) const {
  return exchanges_->unsupported(exchange_of(task, ranks_), true);
}

std::unique_ptr<HaloPlan> ExchangeSession::make_plan(Rank& rank, const HaloTask& task) {
  return std::make_unique<ExchangePlan>(rank, task, *exchanges_);
}

std::unique_ptr<HaloEngine> halo_by(CollectiveEngine& engine) {
  return std::make_unique<ExchangeEngine>(engine);
}

}  // namespace duet
