#include "halo/nvshmem/plan.h"

#include <fmt/format.h>

namespace duet::nvshmem {
namespace {

constexpr std::size_t kParities = 2, kWords = 2 * kParities;

std::int64_t rows_at(const HaloGrid& grid, const Ring& ring, int step) {
  return rows_of(grid, (ring.index + step + grid.ranks) % grid.ranks).count;
}

std::size_t symmetric_bytes(const HaloGrid& grid) {
  const FieldShape most{grid.nx, rows_of(grid, 0).count};
  return 2 * most.bytes() + kWords * sizeof(std::uint64_t) + sizeof(std::uint64_t);
}

}  // namespace

NvshmemPlan::NvshmemPlan(const HaloCalls& calls, Put put, Rank& rank, const HaloTask& task,
                         Watchdog& watchdog)
    : calls_(calls),
      put_(put),
      device_(rank.device),
      ring_(ring_of(rank, task.grid)),
      pe_(rank.index),
      overlap_(task.overlap),
      shape_{task.grid.nx, rows_of(task.grid, ring_.index).count},
      most_rows_(rows_of(task.grid, 0).count),
      rows_above_(rows_at(task.grid, ring_, -1)),
      memory_(calls, rank, symmetric_bytes(task.grid), watchdog),
      count_(rank.device.allocate(kParities * sizeof(std::uint64_t))),
      side_(rank.device, CopyLanes{overlap_ ? 1 : 0, false}),
      watched_(watchdog, *this) {
  const std::uint64_t zeros[kWords] = {};
  device_.write(count_.span(), zeros);
  device_.write({&device_, reinterpret_cast<std::byte*>(word(SideOfRank::above, 0)), sizeof zeros},
                zeros);
  rank.team.barrier("the other ranks to have set their words");
}

void NvshmemPlan::release_waits() noexcept {
  release_words(device_, word(SideOfRank::above, 0), kWords);
}

std::size_t NvshmemPlan::field_bytes() const { return FieldShape{shape_.nx, most_rows_}.bytes(); }

Span NvshmemPlan::field(int parity) const {
  return memory_.span().slice(static_cast<std::size_t>(parity) * field_bytes(), shape_.bytes());
}

float* NvshmemPlan::row_of(int parity, std::int64_t row) const {
  std::byte* const base = memory_.span().data + static_cast<std::size_t>(parity) * field_bytes();
  return reinterpret_cast<float*>(base) + row * shape_.nx;
}

// Behind the fields, aligned to 8 bytes.
std::uint64_t* NvshmemPlan::word(SideOfRank side, int parity) const {
  const std::size_t index =
      kParities * static_cast<std::size_t>(side) + static_cast<std::size_t>(parity);
  const std::size_t at = (2 * field_bytes() + 7) / 8 * 8 + index * sizeof(std::uint64_t);
  return reinterpret_cast<std::uint64_t*>(memory_.span().data + at);
}

SweepCall NvshmemPlan::sweep_call(const Iteration& iteration, bool boundary, bool interior) const {
  const int written = 1 - iteration.parity;
  SweepCall call;
  call.put = put_;
  call.from = row_of(iteration.parity, 0);
  call.to = row_of(written, 0);
  call.partials = reinterpret_cast<double*>(iteration.partials.data);
  call.nx = shape_.nx;
  call.rows = shape_.rows;
  call.boundary = boundary;
  call.interior = interior;
  call.pe = pe_;
  call.above = ring_.above;
  call.below = ring_.below;
  call.halo_above = row_of(written, rows_above_ + 1);
  call.halo_below = row_of(written, 0);
  // For the neighbour above, this rank is the one below.
  call.word_above = word(SideOfRank::below, iteration.parity);
  call.word_below = word(SideOfRank::above, iteration.parity);
  return call;
}

SyncCall NvshmemPlan::sync_call(int parity) const {
  SyncCall call;
  call.put = put_;
  call.nx = shape_.nx;
  call.pe = pe_;
  call.above = ring_.above;
  call.below = ring_.below;
  call.from_above = word(SideOfRank::above, parity);
  call.from_below = word(SideOfRank::below, parity);
  call.word_above = word(SideOfRank::below, parity);
  call.word_below = word(SideOfRank::above, parity);
  call.calls = reinterpret_cast<std::uint64_t*>(count_.span().data) + parity;
  return call;
}

std::int64_t NvshmemPlan::partials() const {
  const Iteration any;
  if (!overlap_) return calls_.partials(sweep_call(any, true, true));
  return calls_.partials(sweep_call(any, true, false)) +
         calls_.partials(sweep_call(any, false, true));
}

void NvshmemPlan::enqueue(Stream& stream, const Iteration& iteration) {
  const auto sweep = [&](bool boundary, bool interior, std::int64_t first_partial) {
    SweepCall call = sweep_call(iteration, boundary, interior);
    if (call.partials != nullptr) call.partials += first_partial;
    enqueue_call(calls_, device_, stream, "sweep",
                 [&calls = calls_, call](void* native) { return calls.sweep(call, native); });
  };
  const auto sync = [&](Stream& on) {
    enqueue_call(calls_, device_, on, "sync",
                 [&calls = calls_, call = sync_call(iteration.parity)](void* native) {
                   return calls.sync(call, native);
                 });
  };
  if (!overlap_) {
    sweep(true, true, 0);
    sync(stream);
    return;
  }
  sweep(true, false, 0);
  side_.fork(stream, 1);
  sync(side_.at(0));
  sweep(false, true, calls_.partials(sweep_call(iteration, true, false)));
  side_.join(stream, 1);
}

std::string NvshmemPlan::algorithm() const {
  const char* const puts[] = {"puts of 4 bytes", "puts by blocks", "puts with signals"};
  return fmt::format("NVSHMEM, {}, neighbours synchronise, NVLS off",
                     puts[static_cast<std::size_t>(put_)]);
}

}  // namespace duet::nvshmem
