#include "collectives/mpi/plan.h"

#include <fmt/format.h>

#include "collectives/mpi/communicator.h"

namespace duet::mpi {
namespace {

constexpr double kDeadlineSeconds = 120;

}  // namespace

MpiPlan::MpiPlan(std::shared_ptr<Communicator> communicator, Rank& rank,
                 const Collective& collective, const CollectiveBuffers& buffers, bool direct,
                 std::string algorithm)
    : communicator_(std::move(communicator)),
      processes_(rank.team.processes()),
      rank_(rank.index),
      kind_(collective.kind),
      broadcasts_(kind_ == CollectiveKind::broadcast && rank.index == collective.root),
      buffers_(buffers),
      staging_(rank.device, collective, buffers_, direct),
      requests_(communicator_->comm, staging_.collective()),
      sent_(rank.device.make_event(EventUse::order)),
      algorithm_(std::move(algorithm)) {}

// At the root, MPI's broadcast has one buffer and Duet's has two. A copy fills the second one.
void MpiPlan::enqueue(Stream& stream) {
  communicator_->require_usable();
  staging_.bring_in(stream);
  if (broadcasts_ && buffers_.send.data != buffers_.recv.data) {
    stream.copy({buffers_.recv, buffers_.send, Executor::dma, {}});
  }
  stream.synchronize(kDeadlineSeconds);
  run();
  if (!broadcasts_) staging_.bring_out(stream);
}

void MpiPlan::enqueue_beside(Stream& stream, SideStreams&, const CallCompute& compute) {
  communicator_->require_usable();
  compute.before(stream);
  staging_.bring_in(stream);
  stream.record(*sent_);
  if (compute.beside) compute.beside(stream);
  sent_->synchronize(kDeadlineSeconds);
  run();
  staging_.bring_out(stream);
}

void MpiPlan::run() {
  try {
    requests_.start(staging_.send(), staging_.recv());
    wait_for(processes_, fmt::format("all ranks to do their part of {} by MPI", name(kind_)),
             kDeadlineSeconds, [this] { return requests_.test(); });
  } catch (...) {
    communicator_->call_failed = true;
    throw;
  }
}

}  // namespace duet::mpi
