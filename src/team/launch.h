// How this process was started among the others of its run, as its environment tells it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace duet {

struct Launch {
  int index = 0;
  int size = 1;
  std::vector<std::string> addresses;  // of process 0, in the order to try them
  int port = 0;                        // of process 0's hub; 0: any free one, told by `broadcast`
  std::string secret;                  // the same in all processes of a run; "": none
  bool one_node = false;               // loopback reaches all processes; told by MPI
  std::optional<int> local_index;      // among the processes of this node
  double patience_seconds = 10;        // who answers nothing for so long is gone
  // Where a launcher connects the processes: gives everyone what process 0 brings, at most 4 KiB;
  // called once, by all. Empty where port and addresses are known.
  std::function<std::string(const std::string&)> broadcast;
};

// Asks the launcher (mpirun, srun), else MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE and DUET_TOKEN
// or DUET_TOKEN_FILE, else says that this process is alone. Throws UsageError naming what was
// expected; a secret is, unless MASTER_ADDR means this machine alone.
Launch find_launch();

// What the environment says of the number of processes, without asking the launcher.
struct LaunchedBy {
  std::string variable;  // that says so; "" where none does
  int size = 1;
};
// Throws UsageError where the variable is no number.
LaunchedBy launched_by();

// What stands before a command line that starts as many processes in the same way: "mpirun -n 2 ";
// "" for one process. Where the environment alone says it, what that has to say.
std::string launch_prefix();

// What the module `mpi` brings: the launch as MPI knows it.
void register_mpi(std::function<Launch()> find);

}  // namespace duet
