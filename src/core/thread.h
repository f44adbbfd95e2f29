#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace duet {

// The limits on this process's threads and memory, "ulimit -u 4096, ulimit -v 300000"; "no ulimit"
// if there are none.
std::string limits_text();

// Throws Error with the reason and limits_text().
[[noreturn]] void cannot_start(const std::string& what, const std::error_code& reason);

// Starts a thread. Throws Error if the system refuses; the message begins with `what` ("thread 37
// of 64, one a rank"). The caller must then join the threads that it started before.
template <typename Body>
std::thread start_thread(const std::string& what, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    cannot_start(what, error.code());
  }
}

// The cores that a thread may run on, by the kernel's numbers.

// The cores of the calling thread. Empty if the kernel does not report them, as on machines with
// more than 1024 cores.
std::vector<int> allowed_cores();

// The core that the calling thread runs on, which may have changed when this returns; -1: unknown.
int current_core();

// Binds the calling thread, and threads that it starts later, to these cores. Does nothing if the
// kernel refuses.
void bind_to(const std::vector<int>& cores);

}  // namespace duet
