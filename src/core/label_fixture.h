// Names of tests' parameters.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace duet {

// "host_4" for "host:4".
inline std::string test_label(std::string text) {
  for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return text;
}

// Of tests whose parameter is a text, such as a machine's name.
inline constexpr auto machine_label = [](const auto& machine) { return test_label(machine.param); };

}  // namespace duet
