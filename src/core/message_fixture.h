// The messages of exceptions, for tests.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <string>

namespace duet {

// What body() throws as an E; a failure, and "", where it throws nothing or something else.
template <class E>
std::string message_of(const std::function<void()>& body) {
  try {
    body();
    ADD_FAILURE() << "nothing is thrown";
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
  }
  return "";
}

}  // namespace duet
