// A process of a run by mpirun that opens a communicator where MPI has been finalised already.
#include <mpi.h>

#include <cstdio>
#include <string>

#include "communicator/communicator.h"

int main(int count, char** arguments) try {
  MPI_Init(&count, &arguments);
  MPI_Finalize();
  const duet::Communicator communicator({"host"});
  std::fprintf(stderr, "a communicator was opened without MPI\n");
  return 1;
} catch (const duet::UsageError& error) {
  const bool clear = std::string(error.what()).find("has finalised MPI") != std::string::npos;
  std::fprintf(stderr, "%s\n", error.what());
  return clear ? 0 : 1;
}
