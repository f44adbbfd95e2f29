// Finds the vendors' libraries through the dynamic loader: the versions of those that are there,
// and why others are not. No other file knows their file names.
#pragma once

#include <string>
#include <vector>

namespace duet {

struct LibraryState {
  std::string name;     // "cuBLAS"
  std::string purpose;  // "GEMM on NVIDIA GPUs"
  bool found = false;
  std::string version;  // if found: as the library reports it
  std::string reason;   // if not found: one line
};

enum class LibrarySearch {
  load,    // loads each library into this process: for `duet info`
  loaded,  // finds only those that this process has loaded already, and loads none
};

std::vector<LibraryState> libraries(LibrarySearch search);

}  // namespace duet
