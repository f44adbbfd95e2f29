// The libraries that Duet works with or beside, found through the loader: which are there, in what
// version, and why the rest is not. The only place that knows their file names.
#pragma once

#include <string>
#include <vector>

namespace duet {

struct LibraryState {
  std::string name;     // "cuBLAS"
  std::string purpose;  // "GEMM on NVIDIA GPUs"
  bool found = false;
  std::string version;  // where found, as the library reports it
  std::string reason;   // where not found, one line
};

enum class LibrarySearch {
  load,    // loads each into this process, as `duet info` may
  loaded,  // only those that the run has loaded itself: nothing is changed by looking
};

std::vector<LibraryState> libraries(LibrarySearch search);

}  // namespace duet
