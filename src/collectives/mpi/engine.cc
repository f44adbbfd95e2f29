// MPI as an engine for any device, with one rank per process.
#include "collectives/engine.h"

#include <fmt/format.h>
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include "collectives/mpi/check.h"
#include "collectives/mpi/plan.h"
#include "collectives/mpi/waiting.h"
#include "core/deadline.h"

namespace duet::mpi {
namespace {

constexpr const char* kExpected =
    "mpi: expected one process a rank, as mpirun -n N with LOCAL_RANK starts them";

// Product and version, from the start of MPI's version string: "Open MPI v4.1.4".
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
  if (info.kind == "cuda") return MPIX_Query_cuda_support() != 0;
#endif
#if defined(MPIX_ROCM_AWARE_SUPPORT) && MPIX_ROCM_AWARE_SUPPORT
  if (info.kind == "hip") return MPIX_Query_rocm_support() != 0;
#endif
  return false;
}

// Makes the session's own communicator, so that its messages cannot match those of other users.
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

class Session : public CollectiveSession {
 public:
  explicit Session(Team& team) : communicator_(std::make_shared<Communicator>()) {
    team.each([&](Rank& rank) { duplicate(*communicator_, rank); });
  }

  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override {
    const std::string reason = missing(collective, in_place);
    return reason.empty() ? std::nullopt : std::optional<Skipped>(Skipped{reason});
  }

  std::optional<Skipped> uncapturable() const override {
    return Skipped{"the CPU makes MPI's calls, which a graph cannot capture"};
  }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    const DeviceInfo& info = rank.device.info();
    const bool direct = reaches(info);
    const char* way = !direct                ? "staged through pinned memory"
                      : info.cpu_addressable ? "host memory"
                                             : "device buffers";
    return std::make_unique<MpiPlan>(communicator_, rank, collective, buffers, direct,
                                     fmt::format("{}, {}", library_name(), way));
  }

 private:
  std::shared_ptr<Communicator> communicator_;
};

class Engine : public CollectiveEngine {
 public:
  std::string name() const override { return "mpi"; }
  std::string device_kind() const override { return ""; }

  std::unique_ptr<CollectiveSession> open(Team& team) override {
    team.together([&] { require_one_rank_a_process(team); });
    return std::make_unique<Session>(team);
  }

 private:
  static void require_one_rank_a_process(const Team& team) {
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
};

}  // namespace
}  // namespace duet::mpi

extern "C" void duet_register();

void duet_register() { duet::register_collective_engine(std::make_unique<duet::mpi::Engine>()); }
