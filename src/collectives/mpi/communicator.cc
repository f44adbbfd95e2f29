#include "collectives/mpi/communicator.h"

#include <fmt/format.h>
#include <mpi-ext.h>

#include <chrono>
#include <thread>

#include "collectives/mpi/check.h"
#include "core/clock.h"
#include "core/deadline.h"
#include "core/error.h"

namespace duet::mpi {
namespace {

constexpr const char* kExpected =
    "mpi: expected one process a rank, as mpirun -n N with LOCAL_RANK starts them";

bool mpi_runs() {
  int finalized = 0;
  return MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0;
}

void duplicate(Communicator& communicator, Rank& rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  DUET_MPI_CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request));
  wait_for(rank.team.processes(), "all ranks to join MPI", kDefaultDeadlineSeconds, [&] {
    int done = 0;
    DUET_MPI_CHECK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    return done != 0;
  });
  DUET_MPI_CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  communicator.comm = comm;
}

void require_one_rank_a_process(const Team& team) {
  int initialized = 0, finalized = 0, size = 0, rank = -1;
  DUET_MPI_CHECK(MPI_Initialized(&initialized));
  DUET_MPI_CHECK(MPI_Finalized(&finalized));
  if (initialized == 0 || finalized != 0) throw Unavailable(kExpected);
  DUET_MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  DUET_MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  // Every process has at least one rank, so equal sizes mean one rank per process.
  if (size != team.size() || rank != team.first_local()) {
    throw Unavailable(
        fmt::format("{}; here {} processes have {} ranks", kExpected, size, team.size()));
  }
  int threads = MPI_THREAD_SINGLE;
  DUET_MPI_CHECK(MPI_Query_thread(&threads));
  if (threads < MPI_THREAD_SERIALIZED) {
    throw Unavailable("mpi: this MPI supports one thread only, and ranks are several");
  }
}

}  // namespace

// Freeing a communicator is a collective call. After a failure the peers may not make it, so the
// communicator is then not freed.
Communicator::~Communicator() {
  if (comm != MPI_COMM_NULL && usable() && mpi_runs()) static_cast<void>(MPI_Comm_free(&comm));
}

void Communicator::require_usable() const {
  if (failure.failed()) {
    throw PeerFailed("a rank has failed, and MPI is not used any more: plan again");
  }
  if (call_failed) throw Error("a call of MPI has failed, and MPI is not used any more");
}

std::shared_ptr<Communicator> open_communicator(Team& team) {
  team.together([&] { require_one_rank_a_process(team); });
  const auto communicator = std::make_shared<Communicator>(team);
  team.each([&](Rank& rank) { duplicate(*communicator, rank); });
  return communicator;
}

std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  DUET_MPI_CHECK(MPI_Get_library_version(text, &length));
  const std::string all = text;
  return all.substr(0, all.find_first_of(",\n"));
}

bool reaches(const DeviceInfo& info) {
  if (info.cpu_addressable) return true;
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  if (info.gpu_runtime == GpuRuntime::cuda) return MPIX_Query_cuda_support() != 0;
#endif
#if defined(MPIX_ROCM_AWARE_SUPPORT) && MPIX_ROCM_AWARE_SUPPORT
  if (info.gpu_runtime == GpuRuntime::hip) return MPIX_Query_rocm_support() != 0;
#endif
  return false;
}

namespace {

// Interval between checks of the other processes' state. Each check takes a lock.
constexpr std::chrono::milliseconds kLook(10);

}  // namespace

void wait_for(Processes* processes, const std::string& what, double deadline_seconds,
              const std::function<bool()>& done) {
  const auto start = SteadyClock::now();
  auto look = start + kLook;
  while (!done()) {
    std::this_thread::yield();
    const auto now = SteadyClock::now();
    if (now < look) continue;
    look = now + kLook;
    const std::string reason = processes != nullptr ? processes->failure() : "";
    if (!reason.empty()) throw PeerFailed(fmt::format("{} while waiting for {}", reason, what));
    if (now - start > std::chrono::duration<double>(deadline_seconds)) {
      throw Timeout(fmt::format("waited {:.0f} s for {}", deadline_seconds, what));
    }
  }
}

}  // namespace duet::mpi
