// Unknown connections and misbehaving members at the hub's port.
#include "team/hub.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <fstream>

#include "team/processes.h"

namespace duet {
namespace {

const std::string kRunsSecret = "the secret of a test's run";

Hub make_hub(int size, double heartbeat_timeout_seconds = 10) {
  return Hub(listen_at("127.0.0.1", 0, true), size, kRunsSecret, heartbeat_timeout_seconds);
}

Socket connected(int port) {
  std::string reason;
  Socket socket = Socket::connect("127.0.0.1", port, reason);
  EXPECT_TRUE(socket.open()) << reason;
  return socket;
}

void send_bytes(const Socket& socket, const std::string& bytes) {
  ::send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

std::string announced(std::uint64_t bytes) {
  std::string text(sizeof bytes, '\0');
  std::memcpy(text.data(), &bytes, sizeof bytes);
  return text;
}

Socket member_at(int port, int index, int size) {
  Socket socket = connected(port);
  const Joined joined = join(socket, kRunsSecret, {index, size, "a test's"}, 10);
  EXPECT_TRUE(joined.welcome) << joined.refused << joined.reason;
  return socket;
}

Socket member(const Hub& hub, int index, int size) { return member_at(hub.port(), index, size); }

// Round `sequence` of all members ends.
void expect_round(const std::vector<Socket>& members, int sequence) {
  for (const Socket& each : members) each.send({"gather", "0", std::to_string(sequence), "part"});
  for (const Socket& each : members) {
    const auto frame = each.receive_within(10, 4096);
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->front(), "all");
    EXPECT_EQ(frame->size(), 3 + members.size());
  }
}

// Whether the hub closes the connection, after any frames.
bool is_dropped(const Socket& socket) {
  while (const auto frame = socket.receive_within(20, 4096)) continue;
  char byte = 0;
  return recv(socket.descriptor(), &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * 4096;
}

TEST(Hub, IsNotDelayedByUnknownConnections) {
  const Hub hub = make_hub(2);
  std::vector<Socket> untrusted;
  for (int i = 0; i < 20; ++i) untrusted.push_back(connected(hub.port()));
  for (int i = 0; i < 10; ++i) send_bytes(untrusted[static_cast<std::size_t>(i)], announced(64));
  for (int i = 5; i < 15; ++i) send_bytes(untrusted[static_cast<std::size_t>(i)], "G");
  std::vector<Socket> members;
  for (int i = 0; i < 2; ++i) members.push_back(member(hub, i, 2));
  const auto begin = std::chrono::steady_clock::now();
  expect_round(members, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Hub, DropsConnectionsWithoutAValidHello) {
  const Hub hub = make_hub(2);
  const Socket unresponsive = connected(hub.port());
  const Socket scanner = connected(hub.port());
  const Socket huge = connected(hub.port());
  const Socket empty = connected(hub.port());
  send_bytes(scanner, "GET / HTTP/1.1\r\n\r\n");
  send_bytes(huge, announced((1ull << 32) - 1));
  send_bytes(empty, announced(0));
  EXPECT_TRUE(is_dropped(scanner));
  EXPECT_TRUE(is_dropped(huge));
  EXPECT_TRUE(is_dropped(empty));
  EXPECT_TRUE(is_dropped(unresponsive));
}

TEST(Hub, AcceptsItsMembersAmongManyUnknownConnections) {
  const Hub hub = make_hub(2);
  std::vector<Socket> untrusted;
  for (int i = 0; i < 600; ++i) untrusted.push_back(connected(hub.port()));
  std::vector<Socket> members;
  for (int i = 0; i < 2; ++i) members.push_back(member(hub, i, 2));
  expect_round(members, 0);
}

TEST(Hub, RefusesWhoDoesNotKnowTheSecret) {
  const Hub hub = make_hub(1);
  const Joined joined = join(connected(hub.port()), "", {0, 1, "an intruder"}, 10);
  EXPECT_NE(joined.refused.find("expected this run's secret"), std::string::npos) << joined.reason;
  std::vector<Socket> members;
  members.push_back(member(hub, 0, 1));
  expect_round(members, 0);
}

// As root, for another user has to be had.
TEST(Hub, IsOfOneUserWithoutASecret) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  const Hub hub(listen_at("127.0.0.1", 0, false), 1, "", 10);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(2);
    std::string reason;
    const Socket socket = Socket::connect("127.0.0.1", hub.port(), reason);
    const Frame challenge = socket.receive_within(10, kMaxHandshakeBytes).value();
    socket.send(hello_frame("", challenge.at(1), {0, 1, "another user's"}));
    const Frame reply = socket.receive_within(10, kMaxHandshakeBytes).value();
    _exit(reply.at(0) == "wrong" ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(join(connected(hub.port()), "", {0, 1, "a test's"}, 10).welcome);
}

TEST(Hub, AllocatesWhatComesNotWhatIsAnnounced) {
  const Hub hub = make_hub(2);
  std::vector<Socket> members;
  for (int i = 0; i < 2; ++i) members.push_back(member(hub, i, 2));
  const std::size_t before = resident_bytes();
  send_bytes(members[1], announced(kMaxGatherBytes) + "some of it");
  members[0].send({"heartbeat"});  // answered after what the other one has sent
  EXPECT_EQ(members[0].receive_within(10, 4096)->front(), "alive");
  EXPECT_LT(resident_bytes(), before + (32 << 20));
}

TEST(Hub, EndsWithWhoAnnouncesTooMuch) {
  const Hub hub = make_hub(2);
  std::vector<Socket> members;
  for (int i = 0; i < 2; ++i) members.push_back(member(hub, i, 2));
  send_bytes(members[1], announced((1ull << 32) - 1));
  const auto received = members[0].receive_within(10, 4096);
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->front(), "gone");
  EXPECT_NE(received->at(1).find("a frame of 4294967295 bytes"), std::string::npos)
      << received->at(1);
}

TEST(Hub, IsNotDelayedByAMemberThatDoesNotRead) {
  const Hub hub = make_hub(3);
  std::vector<Socket> members;
  for (int i = 0; i < 3; ++i) members.push_back(member(hub, i, 3));
  const std::string part(4 << 20, 'x');
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 5; ++round) {
    std::thread unread([&] { members[2].send({"gather", "0", std::to_string(round), "unread"}); });
    std::thread other([&] { members[1].send({"gather", "0", std::to_string(round), "part"}); });
    members[0].send({"gather", "0", std::to_string(round), part});
    for (int i = 0; i < 2; ++i) {
      const auto all = members[static_cast<std::size_t>(i)].receive_within(10, 64 << 20);
      ASSERT_TRUE(all.has_value());
      EXPECT_EQ(all->at(3), part);
    }
    unread.join();
    other.join();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
}

TEST(Hub, AProbeAsksThoseThatWereNotHeardFromLately) {
  const Hub hub = make_hub(3, 1000);
  std::vector<Socket> members;
  for (int i = 0; i < 3; ++i) members.push_back(member(hub, i, 3));
  const auto next_of = [&](int index) {
    const auto frame = members[static_cast<std::size_t>(index)].receive_within(10, 4096);
    return frame ? frame->front() : "nothing";
  };
  const Frame who{"who", "0", "0"};
  members[1].send(who);
  EXPECT_EQ(next_of(1), "who");
  members[0].send({"probe"});
  EXPECT_EQ(next_of(0), "alive");
  EXPECT_EQ(next_of(2), "heartbeat");
  members[1].send(who);
  EXPECT_EQ(next_of(1), "who");
  members[0].send({"heartbeat"});
  EXPECT_EQ(next_of(1), "heartbeat");
}

// No descriptor is left while this lives.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 64;  // poll() takes no more than that either
    setrlimit(RLIMIT_NOFILE, &few);
    for (int copy = dup(0); copy >= 0; copy = dup(0)) copies_.push_back(copy);
  }
  ~NoDescriptorLeft() {
    for (const int copy : copies_) close(copy);
    setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<int> copies_;
};

TEST(Hub, OutlivesALackOfDescriptors) {
  const Hub hub = make_hub(2);
  std::vector<Socket> members;
  members.push_back(member(hub, 0, 2));
  // Its connection waits in the kernel.
  const Socket early(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::string reason;
  const SocketAddress at = resolve("127.0.0.1", hub.port(), reason).front();
  {
    const NoDescriptorLeft now;
    ASSERT_EQ(connect(early.descriptor(), at.get(), at.length), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    members[0].send({"who", "0", "0"});
    const auto who = members[0].receive_within(10, 4096);
    ASSERT_TRUE(who.has_value());
    EXPECT_NE(who->at(1).find("cannot take a connection: Too many open files"), std::string::npos)
        << who->at(1);
  }
  EXPECT_TRUE(join(early, kRunsSecret, {1, 2, "a test's"}, 10).welcome);
}

// One byte now and then, for ever, from several.
// A process with a hub alone, for two members, of whom one that does not answer for 2 s is gone.
pid_t hub_of_its_own(int& port) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    const Hub hub = make_hub(2, 2);
    port = hub.port();
    if (::write(ends[1], &port, sizeof port) != sizeof port) ::_exit(1);
    for (;;) ::pause();
  }
  const bool received = ::read(ends[0], &port, sizeof port) == sizeof port;
  ::close(ends[0]);
  ::close(ends[1]);
  return received ? child : -1;
}

TEST(Hub, BlamesNobodyForTheTimeThatItWasStopped) {
  int port = 0;
  const pid_t hub = hub_of_its_own(port);
  ASSERT_GT(hub, 0);
  const Socket asking = member_at(port, 0, 2), asked = member_at(port, 1, 2);
  asking.send({"heartbeat"});
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ::kill(hub, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  ::kill(hub, SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (const Socket* each : {&asking, &asked}) {
    each->send({"alive"});
    each->send({"gather", "0", "0", "part"});
  }
  for (const Socket* each : {&asking, &asked}) {
    std::string kind = "alive";
    while (kind == "alive" || kind == "heartbeat") {
      const auto frame = each->receive_within(10, 4096);
      kind = frame ? frame->front() : "nothing";
    }
    EXPECT_EQ(kind, "all");
  }
  ::kill(hub, SIGKILL);
  ::waitpid(hub, nullptr, 0);
}

TEST(Hub, BlamesNobodyBesideSlowUnknownConnections) {
  const int port = Socket::listen(0).port();
  std::atomic<bool> over{false};
  std::thread untrusted([&] {
    std::vector<Socket> all;
    while (!over) {
      std::string reason;
      all.push_back(Socket::connect("127.0.0.1", port, reason));
      for (const Socket& each : all) {
        if (each.open()) send_bytes(each, "@");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  const auto run = [&](int index) {
    Launch launch;
    launch.index = index;
    launch.size = 2;
    launch.addresses = {"127.0.0.1"};
    launch.port = port;
    launch.heartbeat_timeout_seconds = 1;
    Processes processes(launch, 20);
    if (index == 1) std::this_thread::sleep_for(std::chrono::seconds(4));
    processes.barrier("the slower one", 20);
    EXPECT_FALSE(processes.lost_any());
  };
  std::thread other([&] { EXPECT_NO_THROW(run(1)); });
  EXPECT_NO_THROW(run(0));
  other.join();
  over = true;
  untrusted.join();
}

}  // namespace
}  // namespace duet
