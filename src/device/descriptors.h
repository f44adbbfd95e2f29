// Transfer of file descriptors between processes of the same user. Some kinds of memory are shared
// as a file descriptor and cannot be opened by name.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace duet {

// Gives other processes copies of this process's descriptors, over a Unix socket. There is one
// DescriptorServer per process, with a thread that sleeps until a request arrives. If the process
// has no free descriptor to accept a connection, the thread tries again ten times per second.
class DescriptorServer {
 public:
  static DescriptorServer& instance();
  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;

  // Takes ownership of the descriptor and returns the text by which another process gets a copy
  // with borrow(). Throws Unavailable.
  std::string lend(int descriptor);
  // Closes the descriptor. Called when no process will borrow it any more.
  void take_back(const std::string& loan) noexcept;

 private:
  DescriptorServer();
  void serve();
  // Returns false where no descriptor is free for the connection.
  bool accept_one(std::deque<int>& asking);
  void answer(int connection);

  std::string name_;
  int listener_ = -1;
  std::atomic<bool> ends_{false};
  std::mutex mutex_;
  std::map<std::string, int> lent_;
  std::thread thread_;
};

// Returns a copy of a descriptor that `process` lends; the caller closes it. `loan` comes from a
// peer and is not trusted: the socket that it names must belong to that process and to this user.
// Throws Unavailable with the reason.
int borrow(int process, const std::string& loan);

// Parses a descriptor's number in a peer's text, which must consist of digits. Throws Unavailable.
int descriptor_number(const std::string& text);

}  // namespace duet
