#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace duet {

// How this process was started among the others of its run, by its environment.
struct Launch {
  int index = 0;
  int size = 1;
  std::vector<std::string> addresses;  // of process 0, in the order to try them
  int port = 0;                        // of process 0's hub; 0: any free one, sent by `broadcast`
  std::string secret;                  // the same in all processes of a run; "": none
  bool one_node = false;               // loopback reaches all processes; known from MPI
  std::optional<int> local_index;      // among the processes of this node
  double heartbeat_timeout_seconds = 10;  // without an answer for this long a process is gone
  // Where a launcher connects the processes: gives everyone what process 0 brings, at most 4 KiB;
  // called once, by all. Empty where port and addresses are known.
  std::function<std::string(const std::string&)> broadcast;
};

// By the launcher (mpirun, srun), if it has not started torchrun; else by MASTER_ADDR, MASTER_PORT,
// RANK, WORLD_SIZE and DUET_TOKEN or DUET_TOKEN_FILE; else this process alone. Throws UsageError
// naming what was expected, such as a secret where MASTER_ADDR is not a loopback address.
Launch find_launch();

// The number of processes by the environment alone, without asking the launcher.
struct LaunchedBy {
  std::string variable;  // the variable that gives it; "" if none does
  int size = 1;
};
// Throws UsageError where the variable is no number.
LaunchedBy launched_by();

// Whether srun has started one process on each of its nodes: each may do what is of one process.
// Throws as launched_by().
bool is_one_of_each_node();

// The beginning of a command line that starts as many processes in the same way: "mpirun -n 2 ";
// "" for one process; the variables to set where only the environment connects the processes.
std::string launch_prefix();

// Called by the module `mpi`, with a function that asks MPI for the launch.
void register_mpi(std::function<Launch()> find);

}  // namespace duet
