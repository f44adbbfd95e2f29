#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace duet {

// The flags of nccl-tests that change nothing here: Duet takes the values with which it measures
// anyway, and for others names what it has instead. By their places in the table of flags.
struct NcclTestsFlags {
  std::vector<std::string> values;
};
// `flags` must not be copied or moved afterwards.
void add_nccl_tests_flags(CLI::App& app, NcclTestsFlags& flags);
// Throws UsageError for a value that is not taken.
void require_as_nccl_tests(const NcclTestsFlags& flags);

}  // namespace duet
