#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace duet {
namespace {

std::atomic<int> signals{0};
std::atomic<bool> silent{false}, terminal{false};
std::atomic<const std::string*> last_words{nullptr};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
                  std::atomic<const std::string*>::is_always_lock_free,
              "used in a signal handler");

// Uses write() alone, which is async-signal-safe.
void write_to_stderr(std::string_view text) {
  if (silent.load()) return;
  // Ends the line that has a progress text or the terminal's own ^C.
  if (terminal.load() && ::write(STDERR_FILENO, "\n", 1) < 0) return;
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void on_signal(int) {
  const int before = errno;
  if (signals.fetch_add(1) > 0) {
    if (const std::string* words = last_words.load()) write_to_stderr(*words);
    _exit(1);  // the journal stays whole, because each record is one write()
  }
  write_to_stderr("duet: stopping after this call; again to stop now\n");
  errno = before;
}

}  // namespace

void catch_interrupts(bool speaks) {
  silent = !speaks;
  terminal = isatty(STDERR_FILENO) != 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // vendors' libraries do not expect EINTR
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return signals.load() > 0; }

void set_last_words(const std::string& line) {
  static std::string words;  // static, because a signal may come until the process ends
  words = line + "\n";
  last_words = &words;
}

}  // namespace duet
