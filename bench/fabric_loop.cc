// fabric_loop PROVIDER BYTES WINDOW MESSAGES ROUNDS
//
// Measures plain libfabric writes between two processes of one machine, without Duet, to compare
// `duet fabric` with. Prints the mean over rounds of the seconds per message. Each message has
// memory of its own and counts when it is delivered (FI_DELIVERY_COMPLETE). As in Duet, each
// process polls on a core of its own, and between rounds threads check and overwrite the memory of
// both processes, so that the same data are in the caches.
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kSecondsAtMost = 60;

void check(long result, const char* what) {
  if (result >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, fi_strerror(static_cast<int>(-result)));
  std::exit(1);
}

// What a process sends to the other one: its address, and the memory to write to.
struct Told {
  char name[256];
  size_t length;
  std::uint64_t address, key;
};

struct End {
  fid_ep* endpoint;
  fid_cq* queue;
  fid_av* addresses;
  fid_mr* region;
  fi_addr_t peer;
  std::vector<char> memory;
  Told theirs;
};

End open(const char* provider, size_t bytes, int other) {
  End end{};
  end.memory.assign(bytes, 1);
  fi_info* hints = fi_allocinfo();
  hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->fabric_attr->prov_name = strdup(provider);
  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_TAGGED;
  fi_av_attr addresses{};
  addresses.type = FI_AV_TABLE;
  check(fi_getinfo(FI_VERSION(1, 14), nullptr, nullptr, 0, hints, &info), "fi_getinfo");
  check(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
  check(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
  check(fi_endpoint(domain, info, &end.endpoint, nullptr), "fi_endpoint");
  check(fi_cq_open(domain, &queue, &end.queue, nullptr), "fi_cq_open");
  check(fi_av_open(domain, &addresses, &end.addresses, nullptr), "fi_av_open");
  check(fi_ep_bind(end.endpoint, &end.queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  check(fi_ep_bind(end.endpoint, &end.addresses->fid, 0), "fi_ep_bind");
  check(fi_enable(end.endpoint), "fi_enable");
  check(fi_mr_reg(domain, end.memory.data(), bytes, FI_WRITE | FI_REMOTE_WRITE, 0, 7, 0,
                  &end.region, nullptr),
        "fi_mr_reg");
  const bool by_address = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  Told mine{{}, sizeof mine.name, 0, fi_mr_key(end.region)};
  if (by_address) mine.address = reinterpret_cast<std::uintptr_t>(end.memory.data());
  check(fi_getname(&end.endpoint->fid, mine.name, &mine.length), "fi_getname");
  if (write(other, &mine, sizeof mine) != sizeof mine) std::exit(1);
  if (recv(other, &end.theirs, sizeof end.theirs, MSG_WAITALL) != sizeof end.theirs) std::exit(1);
  check(fi_av_insert(end.addresses, end.theirs.name, 1, &end.peer, 0, nullptr) - 1, "fi_av_insert");
  return end;
}

// Takes completions from the queue and returns their number.
int poll(End& end) {
  fi_cq_tagged_entry entries[64];
  const ssize_t count = fi_cq_read(end.queue, entries, 64);
  if (count == -FI_EAGAIN) return 0;
  check(count, "fi_cq_read");
  return static_cast<int>(count);
}

// The seconds per message of one round.
double round_of(End& end, size_t bytes, int window, int messages, fi_context2* contexts) {
  const auto begin = std::chrono::steady_clock::now();
  for (int posted = 0, ended = 0; ended < messages; ended += poll(end)) {
    for (; posted < messages && posted - ended < window; ++posted) {
      const size_t offset = bytes * static_cast<size_t>(posted);
      iovec local{end.memory.data() + offset, bytes};
      fi_rma_iov remote{end.theirs.address + offset, bytes, end.theirs.key};
      void* descriptor = fi_mr_desc(end.region);
      fi_msg_rma write{&local, &descriptor, 1, end.peer, &remote, 1, contexts + posted, 0};
      const ssize_t result =
          fi_writemsg(end.endpoint, &write, FI_COMPLETION | FI_DELIVERY_COMPLETE);
      if (result == -FI_EAGAIN) break;
      check(result, "fi_writemsg");
    }
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / messages;
}

// Binds this process to the first or the second core that it may run on.
void take_core(bool second) {
  cpu_set_t allowed, own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  size_t core = 0;
  for (int skip = second ? 1 : 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed) && skip-- == 0) break;
  }
  if (core == CPU_SETSIZE) return;
  CPU_SET(core, &own);
  sched_setaffinity(0, sizeof own, &own);
}

void write_over(End& end, char value) {
  std::thread([&] { std::memset(end.memory.data(), value, end.memory.size()); }).join();
}

void check_memory(const End& end, char value) {
  std::thread([&] {
    const auto sum = std::accumulate(end.memory.begin(), end.memory.end(), std::uint64_t{0});
    if (sum == end.memory.size() * static_cast<std::uint64_t>(value)) return;
    std::fprintf(stderr, "wrong data\n");
    std::exit(1);
  }).join();
}

// The target process: polls. On a 'p' from the other process it checks and overwrites its memory
// and answers 'd'. On any other byte, or if the other process has ended, it exits.
[[noreturn]] void serve(End& end, int other) {
  for (unsigned turn = 1;; ++turn) {
    poll(end);
    if (turn % 256 == 0) sched_yield();
    char order = 0;
    if (turn % 1024 != 0 || recv(other, &order, 1, MSG_DONTWAIT) < 0) continue;
    if (order != 'p') std::_Exit(0);
    check_memory(end, 1);
    write_over(end, 2);
    if (write(other, "d", 1) != 1) std::_Exit(1);
  }
}

// Overwrites the memory of both processes.
void prepare(End& end, int other) {
  char answer = 0;
  write_over(end, 1);
  if (write(other, "p", 1) != 1 || read(other, &answer, 1) != 1) std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) {
    std::fprintf(stderr, "usage: fabric_loop PROVIDER BYTES WINDOW MESSAGES ROUNDS\n");
    return 2;
  }
  const size_t bytes = std::strtoull(arguments[2], nullptr, 10);
  const int window = std::atoi(arguments[3]), messages = std::atoi(arguments[4]);
  int pair[2];
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
  alarm(kSecondsAtMost);
  const pid_t child = fork();
  close(pair[child == 0 ? 0 : 1]);
  take_core(child == 0);
  End end = open(arguments[1], bytes * static_cast<size_t>(messages), pair[child == 0 ? 1 : 0]);
  if (child == 0) serve(end, pair[1]);
  std::vector<fi_context2> contexts(static_cast<size_t>(messages));
  std::vector<double> seconds;
  for (int round = 0; round <= std::atoi(arguments[5]); ++round) {  // round 0 connects
    prepare(end, pair[0]);
    seconds.push_back(round_of(end, bytes, window, messages, contexts.data()));
  }
  const double sum = std::accumulate(seconds.begin() + 1, seconds.end(), 0.0);
  std::printf("%.9g\n", sum / static_cast<double>(seconds.size() - 1));
  if (write(pair[0], "e", 1) != 1) return 1;
  waitpid(child, nullptr, 0);
  return 0;
}
