#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duet {

// " (did you mean 'copy'?)", with the known word nearest to `text`; "" if none is near. A word is
// near if it takes at most as many edits as a third of `text` has letters, or one. An edit changes,
// adds or leaves out a letter, or swaps it with its neighbour.
std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& known);

// The same for any range of texts.
template <typename Words>
std::string did_you_mean(std::string_view text, const Words& known) {
  return did_you_mean(text, std::vector<std::string_view>(known.begin(), known.end()));
}

// "unknown GEMM engine 'cublss' (did you mean 'cublas'?): cuda has cublas, cublaslt".
std::string unknown_engine_text(const std::string& workload, const std::string& asked,
                                const std::string& machine, const std::vector<std::string>& known);

}  // namespace duet
