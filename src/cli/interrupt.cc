#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace duet {
namespace {

constexpr unsigned kGraceSeconds = 3;  // for the current call, and for what is written at the end

std::atomic<int> signals{0};
std::atomic<bool> silent{false}, terminal{false};
std::atomic<Stopping> stopping{Stopping::soon};
std::atomic<const std::string*> last_words{nullptr};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
                  std::atomic<Stopping>::is_always_lock_free &&
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

// The journal stays whole, because each record is one write().
[[noreturn]] void end_now() {
  if (const std::string* words = last_words.load()) write_to_stderr(*words);
  _exit(1);
}

void on_signal(int) {
  const int before = errno;
  if (signals.fetch_add(1) > 0) end_now();
  if (stopping.load() == Stopping::with_checkpoint) {
    write_to_stderr("duet: stopping after this step and its checkpoint; again to stop now\n");
  } else {
    write_to_stderr("duet: stopping within a few seconds; again to stop now\n");
    alarm(kGraceSeconds);
  }
  errno = before;
}

void on_alarm(int) { end_now(); }

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // vendors' libraries do not expect EINTR
  sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_interrupts(bool speaks, Stopping how) {
  silent = !speaks;
  stopping = how;
  terminal = isatty(STDERR_FILENO) != 0;
  set_handler(SIGALRM, on_alarm);
  set_handler(SIGINT, on_signal);
  set_handler(SIGTERM, on_signal);
}

bool interrupted() noexcept { return signals.load() > 0; }

void set_last_words(const std::string& line) {
  static std::string words;  // static, because a signal may come until the process ends
  words = line + "\n";
  last_words = &words;
}

}  // namespace duet
