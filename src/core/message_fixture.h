// What errors say, for tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

namespace duet {

// The message of the E that `call` throws; "" if it throws nothing. Another error passes through,
// and so fails the test.
template <class E>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
    return "";
  } catch (const E& error) {
    return error.what();
  }
}

inline ::testing::AssertionResult contains(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in \"" << text << "\"";
}

}  // namespace duet
