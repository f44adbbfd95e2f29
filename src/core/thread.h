#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

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

}  // namespace duet
