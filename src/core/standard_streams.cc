#include "core/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace duet {
namespace {

bool closed[] = {false, false, false};

// The lowest free number is `stream`, since those below it are open.
void open_stream(int stream) noexcept {
  if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) return;
  closed[stream] = true;
  const int access = stream == STDIN_FILENO ? O_RDONLY : O_WRONLY;
  // Without /dev a descriptor that nothing can be read from or written to.
  if (::open("/dev/null", access) < 0) static_cast<void>(::open("/", O_PATH));
}

[[gnu::constructor]] void open_at_load() { open_standard_streams(); }

}  // namespace

void open_standard_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) open_stream(stream);
}

bool was_closed(int stream) noexcept { return closed[stream]; }

}  // namespace duet
