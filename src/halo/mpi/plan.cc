#include "halo/mpi/plan.h"

#include <fmt/format.h>

#include "collectives/mpi/check.h"
#include "collectives/mpi/waiting.h"

namespace duet::mpi {
namespace {

constexpr double kHaloDeadlineSeconds = 120;
constexpr int kUp = 0, kDown = 1;  // tags

}  // namespace

MpiHaloPlan::MpiHaloPlan(std::shared_ptr<Communicator> communicator, Rank& rank,
                         const HaloTask& task)
    : communicator_(std::move(communicator)),
      processes_(rank.team.processes()),
      ring_(ring_of(rank, task.grid)),
      parts_(rank, task),
      fields_(rank.device.allocate(2 * shape().bytes())),
      swept_(rank.device.make_event(EventUse::order)),
      on_cpu_(rank.device.info().cpu_addressable) {
  if (reaches(rank.device.info())) return;
  staging_ = rank.device.allocate(std::size(kRows) * shape().row_bytes(), MemoryKind::pinned);
}

Span MpiHaloPlan::field(int parity) const {
  return fields_.slice(static_cast<std::size_t>(parity) * shape().bytes(), shape().bytes());
}

Span MpiHaloPlan::row(RowAt at, int parity) const {
  const std::int64_t rows[] = {1, shape().rows, 0, shape().rows + 1};
  return row_at(field(parity), shape(), rows[at]);
}

Span MpiHaloPlan::message(RowAt at, int parity) const {
  if (staging_.bytes() == 0) return row(at, parity);
  return staging_.slice(static_cast<std::size_t>(at) * shape().row_bytes(), shape().row_bytes());
}

void MpiHaloPlan::exchange(int parity) {
  MPI_Request requests[4];
  const int count = static_cast<int>(shape().nx);
  const MPI_Comm comm = communicator_->comm;
  const auto data = [&](RowAt at) { return message(at, parity).data; };
  DUET_MPI_CHECK(MPI_Irecv(data(lower), count, MPI_FLOAT, ring_.below, kUp, comm, &requests[0]));
  DUET_MPI_CHECK(MPI_Irecv(data(upper), count, MPI_FLOAT, ring_.above, kDown, comm, &requests[1]));
  DUET_MPI_CHECK(MPI_Isend(data(first), count, MPI_FLOAT, ring_.above, kUp, comm, &requests[2]));
  DUET_MPI_CHECK(MPI_Isend(data(last), count, MPI_FLOAT, ring_.below, kDown, comm, &requests[3]));
  wait_for(processes_, "all ranks to send their boundary rows by MPI", kHaloDeadlineSeconds, [&] {
    int done = 0;
    DUET_MPI_CHECK(MPI_Testall(4, requests, &done, MPI_STATUSES_IGNORE));
    return done != 0;
  });
}

void MpiHaloPlan::enqueue(Stream& stream, const Iteration& iteration) {
  communicator_->require_usable();
  const int written = 1 - iteration.parity;
  const bool staged = staging_.bytes() > 0;
  const Span from = field(iteration.parity), to = field(written);
  parts_.sweep_before(stream, from, to, iteration.partials);
  for (const RowAt at : {first, last}) {
    if (staged) stream.copy({message(at, written), row(at, written), Executor::dma, {}});
  }
  stream.record(*swept_);
  parts_.sweep_beside(stream, from, to, iteration.partials);
  swept_->synchronize(kHaloDeadlineSeconds);
  try {
    exchange(written);
  } catch (...) {
    communicator_->call_failed = true;
    throw;
  }
  for (const RowAt at : {upper, lower}) {
    if (staged) stream.copy({row(at, written), message(at, written), Executor::dma, {}});
  }
}

std::string MpiHaloPlan::algorithm() const {
  const char* way = staging_.bytes() > 0 ? "staged through pinned memory"
                    : on_cpu_            ? "host memory"
                                         : "device memory";
  return fmt::format("{}, {}", library_name(), way);
}

}  // namespace duet::mpi
