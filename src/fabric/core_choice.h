#pragma once

#include <optional>
#include <string>
#include <vector>

namespace duet {

// The cores that a process may run on.
struct UsableCores {
  std::string machine;     // the same text in all processes of a machine
  std::vector<int> cores;  // as the kernel numbers them, the best ones first

  std::string text() const;
  static UsableCores parse(const std::string& text);  // the inverse of text()
};

// `cores` rotated so that `core` comes first; unchanged where it is not among them.
std::vector<int> beginning_with(int core, std::vector<int> cores);

// The cores of the calling thread. Cores of the NUMA node (-1: any) come first, and the first
// hardware thread of each physical core before any second one. Among equals the thread's present
// core and those after it come first, so that simultaneous runs do not all take the first cores.
UsableCores usable_cores(int numa_node);

// The core of process `self`, given all processes' cores by index: in the order of their indexes
// each process takes the first of its cores that is still free, so that no two share one. Nothing
// where a process of the same machine found none free.
std::optional<int> choose_core(const std::vector<UsableCores>& all, std::size_t self);

}  // namespace duet
