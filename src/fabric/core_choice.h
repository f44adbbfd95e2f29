// Which core each process polls on, so that no two share one while another is idle.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace duet {

// What a process may run on.
struct UsableCores {
  std::string machine;     // the same text in all processes of a machine
  std::vector<int> cores;  // as the kernel numbers them, the best ones first

  std::string say() const;
  static UsableCores parse(const std::string& said);  // what say() said
};

// These and in their order, but that one, where it is among them, and what follows it come first.
std::vector<int> beginning_with(int core, std::vector<int> cores);

// This thread's. Those of the NUMA node (-1: any) come first, and of each physical core one
// hardware thread before any second one; of equals the one that the thread is on and those after
// it, so that runs beside each other do not all take the machine's first cores.
UsableCores usable_cores(int numa_node);

// One process's of all, by index: in turn each takes the first that none before it has taken.
// Nothing where some process of the same machine found none left.
std::optional<int> choose_core(const std::vector<UsableCores>& all, std::size_t self);

}  // namespace duet
