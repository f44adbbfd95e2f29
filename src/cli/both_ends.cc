// Becoming two processes; see both_ends.h.
#include "cli/both_ends.h"

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
  if (!bound) throw Error("no free port on 127.0.0.1 for both processes of the run to meet");
  return ntohs(address.sin_port);
}

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

}  // namespace

BothEnds::BothEnds() {
  const bool told = std::getenv("RANK") != nullptr || std::getenv("MASTER_ADDR") != nullptr;
  if (told || !launched_by().variable.empty()) return;
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", std::to_string(free_port()));
  set("WORLD_SIZE", "2");
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ < 0) throw Error("the second process of the run could not be made by fork()");
  set("RANK", child_ == 0 ? "1" : "0");
  if (child_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(1);  // the parent ended before that was said
}

BothEnds::~BothEnds() {
  if (child_ > 0) waitpid(child_, nullptr, 0);
}

}  // namespace duet
