#include "team/launch.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "core/error.h"
#include "core/module.h"
#include "team/address.h"
#include "team/secret.h"

namespace duet {
namespace {

constexpr int kDefaultPort = 29500;  // as PyTorch has it
constexpr int kMostProcesses = 65536;

std::function<Launch()>& mpi() {
  static std::function<Launch()> find;
  return find;
}

bool has(const char* name) { return std::getenv(name) != nullptr; }

int number(const char* name, int least, int most) {
  const std::string text = std::getenv(name);
  const char* end = text.data() + text.size();
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < least || value > most) {
    throw UsageError(
        fmt::format("{}={}: expected a number from {} to {}", name, text, least, most));
  }
  return value;
}

std::optional<int> local_index() {
  for (const char* name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}) {
    if (has(name)) return number(name, 0, kMostProcesses - 1);
  }
  return std::nullopt;
}

// torchrun's processes inherit the variables of what started torchrun itself.
bool by_torchrun() { return has("TORCHELASTIC_RUN_ID") && has("WORLD_SIZE"); }

// The variable by which a launcher shows that it started this process, or nullptr.
const char* launcher() {
  if (by_torchrun()) return nullptr;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (has(name)) return name;
  }
  // A batch script of Slurm's has the variables of a task without being one of several.
  const bool task = has("SLURM_PROCID") && has("SLURM_STEP_ID") && has("SLURM_NTASKS") &&
                    number("SLURM_NTASKS", 1, kMostProcesses) > 1;
  return task ? "SLURM_PROCID" : nullptr;
}

bool any_by_address() { return has("RANK") || has("WORLD_SIZE") || has("MASTER_ADDR"); }

Launch by_address() {
  for (const char* name : {"RANK", "WORLD_SIZE"}) {
    if (has(name)) continue;
    throw UsageError(fmt::format(
        "{} is not set: expected MASTER_ADDR, RANK and WORLD_SIZE together, or none of them",
        name));
  }
  Launch launch;
  launch.size = number("WORLD_SIZE", 1, kMostProcesses);
  launch.index = number("RANK", 0, launch.size - 1);
  if (launch.size == 1) return launch;
  if (!has("MASTER_ADDR") || std::string(std::getenv("MASTER_ADDR")).empty()) {
    throw UsageError(fmt::format(
        "WORLD_SIZE={}: expected MASTER_ADDR to name the machine of the process with RANK=0",
        launch.size));
  }
  launch.addresses = {std::getenv("MASTER_ADDR")};
  launch.port = has("MASTER_PORT") ? number("MASTER_PORT", 1, 65535) : kDefaultPort;
  launch.secret = find_secret();
  if (launch.secret.empty() && !is_loopback(launch.addresses.front())) {
    throw UsageError(
        fmt::format("MASTER_ADDR={}: expected DUET_TOKEN or DUET_TOKEN_FILE, a secret that all "
                    "processes of the "
                    "run have, since others reach that address as well (docs/security.md)",
                    launch.addresses.front()));
  }
  return launch;
}

// MPICH's Hydra sets PMI_SIZE under srun as well as without.
bool by_srun(const LaunchedBy& by) {
  return by.variable == "SLURM_NTASKS" || (by.variable == "PMI_SIZE" && has("SLURM_PROCID"));
}

}  // namespace

LaunchedBy launched_by() {
  if (by_torchrun()) return {"WORLD_SIZE", number("WORLD_SIZE", 1, kMostProcesses)};
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE"}) {
    if (has(name)) return {name, number(name, 1, kMostProcesses)};
  }
  // srun sets SLURM_NTASKS however it connects the processes, also by PMIx.
  if (launcher() == nullptr || !has("SLURM_NTASKS")) return {};
  return {"SLURM_NTASKS", number("SLURM_NTASKS", 1, kMostProcesses)};
}

bool is_one_of_each_node() {
  constexpr const char* kTasks = "SLURM_STEP_NUM_TASKS";
  constexpr const char* kNodes = "SLURM_STEP_NUM_NODES";
  return by_srun(launched_by()) && has(kTasks) && has(kNodes) &&
         number(kTasks, 1, kMostProcesses) == number(kNodes, 1, kMostProcesses);
}

std::string launch_prefix() {
  const LaunchedBy by = launched_by();
  if (by.size <= 1) return "";
  if (by_srun(by)) return fmt::format("srun -n {} ", by.size);
  if (by.variable != "WORLD_SIZE") return fmt::format("mpirun -n {} ", by.size);
  const char* address = std::getenv("MASTER_ADDR");
  return fmt::format("MASTER_ADDR={} WORLD_SIZE={} RANK=<0 to {}> ",
                     address == nullptr ? "" : address, by.size, by.size - 1);
}

namespace {

// Nothing, and the reason, where MPI does not connect the processes that a launcher started.
std::optional<Launch> by_mpi(std::string& reason) {
  const ModuleState& module = load_module("mpi");
  reason = module.reason;
  if (!module.loaded) return std::nullopt;
  Launch launch = mpi()();
  if (launch.size > 1 || launched_by().size == 1) return launch;
  reason = "connecting this process alone";
  return std::nullopt;
}

}  // namespace

void register_mpi(std::function<Launch()> find) { mpi() = std::move(find); }

Launch find_launch() {
  Launch launch;
  std::string reason;
  const char* by = launcher();
  if (const auto found = by != nullptr ? by_mpi(reason) : std::nullopt) {
    launch = *found;
  } else if (any_by_address()) {
    launch = by_address();
  } else if (by != nullptr) {
    throw UsageError(fmt::format("{}={}, but MPI is {}: expected MASTER_ADDR, RANK and WORLD_SIZE",
                                 by, std::getenv(by), reason));
  }
  if (!launch.local_index) launch.local_index = local_index();
  return launch;
}

}  // namespace duet
