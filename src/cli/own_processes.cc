#include "cli/own_processes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "team/launch.h"
#include "team/secret.h"

namespace duet {
namespace {

int free_port() {
  const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const bool bound = socket_fd >= 0 && bind(socket_fd, any, length) == 0 &&
                     getsockname(socket_fd, any, &length) == 0;
  if (socket_fd >= 0) close(socket_fd);
  if (!bound) throw Error("no free port on 127.0.0.1 to which the run's processes could connect");
  return ntohs(address.sin_port);
}

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

}  // namespace

OwnProcesses::OwnProcesses(int count) {
  if (launched()) return;
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", std::to_string(free_port()));
  set("WORLD_SIZE", std::to_string(count));
  // Other users of this machine can reach the port, so the run needs a secret.
  if (find_secret().empty()) set("DUET_TOKEN", make_secret());
  const pid_t parent = getpid();
  for (int index = 1; index < count; ++index) {
    const pid_t child = fork();
    if (child < 0) throw Error("the processes of the run could not be made by fork()");
    if (child > 0) {
      children_.push_back(child);
      continue;
    }
    children_.clear();
    set("RANK", std::to_string(index));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) std::_Exit(1);  // the parent ended before prctl()
    return;
  }
  set("RANK", "0");
}

OwnProcesses::~OwnProcesses() {
  for (const pid_t child : children_) waitpid(child, nullptr, 0);
}

bool OwnProcesses::launched() {
  const bool by_address = std::getenv("RANK") != nullptr || std::getenv("MASTER_ADDR") != nullptr;
  return by_address || !launched_by().variable.empty();
}

}  // namespace duet
