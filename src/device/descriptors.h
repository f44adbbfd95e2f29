// Transfer of file descriptors between processes of the same user. Some kinds of memory are shared
// as a file descriptor and cannot be opened by name.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace duet {

// Gives other processes copies of this process's descriptors, over a Unix socket. A thread sleeps
// until a request arrives. If the process has no free descriptor to accept a connection, the thread
// tries again ten times per second.
class DescriptorServer {
 public:
  static DescriptorServer& instance();  // this process's

  DescriptorServer();  // throws Unavailable, or Error where no thread can be started
  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;

  // Takes ownership of the descriptor and returns the text by which another process gets a copy
  // with borrow(): any of this user's, or one of those in `to`. Throws Unavailable.
  std::string lend(int descriptor, const std::vector<int>& to = {});
  // Closes the descriptor. Called when no process will borrow it any more.
  void take_back(const std::string& loan) noexcept;
  // In a forked child, which has copies of all descriptors but not the thread: closes them, unless
  // another thread changed them at the fork.
  void close_in_child() noexcept;

 private:
  void serve();
  // Returns false where no descriptor is free for the connection.
  bool accept_one(std::deque<int>& asking);
  void answer(int connection);

  std::string name_;
  int listener_ = -1;
  std::atomic<bool> ends_{false};
  std::mutex mutex_;
  struct Loan {
    int descriptor;
    std::vector<int> to;
  };
  std::map<std::string, Loan> lent_;
  std::thread thread_;
};

// Returns a copy of a descriptor that `process` lends; the caller closes it. `loan` comes from a
// peer and is not trusted: the socket that it names must belong to that process and to this user.
// Throws Unavailable with the reason.
int borrow(int process, const std::string& loan);

// Parses a descriptor's number in a peer's text, which must consist of digits. Throws Unavailable.
int descriptor_number(const std::string& text);

}  // namespace duet
