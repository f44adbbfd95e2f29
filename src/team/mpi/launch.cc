// The launch by MPI, which gives ranks and broadcasts where process 0 listens. MPI can be
// initialised once only: what is initialised here stays so until the process ends, for the engine
// mpi. A program that has initialised MPI itself also finalises it.
#include "team/launch.h"

#include <mpi.h>

#include <cstdlib>

#include "core/error.h"

namespace duet {
namespace {

constexpr int kLongest = 4096;

std::string broadcast(const std::string& text) {
  char buffer[kLongest] = "";
  text.copy(buffer, sizeof buffer - 1);
  MPI_Bcast(buffer, kLongest, MPI_CHAR, 0, MPI_COMM_WORLD);
  return buffer;
}

bool is_finalised() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  return finalised != 0;
}

void finalize() {
  if (!is_finalised()) MPI_Finalize();
}

void initialise() {
  if (is_finalised()) {
    throw UsageError(
        "the program has finalised MPI, which tells the ranks of a run that mpirun or srun "
        "started: expected MPI_Finalize() after Duet has ended");
  }
  int done = 0;
  MPI_Initialized(&done);
  if (done != 0) return;
  // MPI's default error handler ends the process with a message.
  int threads = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
  std::atexit(finalize);
}

Launch find() {
  initialise();
  Launch launch;
  MPI_Comm_rank(MPI_COMM_WORLD, &launch.index);
  MPI_Comm_size(MPI_COMM_WORLD, &launch.size);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int local = 0, here = 0;
  MPI_Comm_rank(node, &local);
  MPI_Comm_size(node, &here);
  launch.local_index = local;
  launch.one_node = here == launch.size;
  MPI_Comm_free(&node);
  launch.broadcast = broadcast;
  return launch;
}

}  // namespace
}  // namespace duet

extern "C" void duet_register();

void duet_register() { duet::register_mpi(duet::find); }
