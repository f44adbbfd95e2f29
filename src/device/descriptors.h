// Open files that other processes of the same user may have copies of: some memory is shared as
// such, and cannot be opened by a name.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace duet {

// Lends by a Unix socket and a thread that sleeps until it is asked. One a process. Where no
// descriptor is left to take a connection, it tries again ten times a second.
class Lender {
 public:
  static Lender& instance();
  ~Lender();
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;

  // Takes the descriptor over; borrow() gets it in another process by this text. Throws
  // Unavailable.
  std::string lend(int descriptor);
  // Closes it here, when nobody borrows it any more.
  void take_back(const std::string& loan) noexcept;

 private:
  Lender();
  void serve();
  // False: not now, for want of descriptors.
  bool accept_one(std::deque<int>& asking);
  void answer(int connection);

  std::string name_;
  int listener_ = -1;
  std::atomic<bool> ends_{false};
  std::mutex mutex_;
  std::map<std::string, int> lent_;
  std::thread thread_;
};

// A copy of what `process` lends, for the caller to close. The loan is a peer's text: it must be
// one of that process and of this user. Throws Unavailable with the reason.
int borrow(int process, const std::string& loan);

// A descriptor's number in a peer's text: digits alone. Throws Unavailable.
int descriptor_number(const std::string& text);

}  // namespace duet
