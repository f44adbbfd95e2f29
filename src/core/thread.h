// Threads that start, or whose failure to start is said in words.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace duet {

// "ulimit -u 4096, ulimit -v 300000": what bounds this process's threads and memory; "no ulimit"
// where nothing does.
std::string limits_text();

[[noreturn]] void cannot_start(const std::string& what, const std::error_code& reason);

// `what` is for the message: "thread 37 of 64, one a rank". Throws Error where there is no room for
// another thread; threads that were started before are the caller's to join.
template <typename Body>
std::thread start_thread(const std::string& what, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    cannot_start(what, error.code());
  }
}

}  // namespace duet
