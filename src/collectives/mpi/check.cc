#include "collectives/mpi/check.h"

#include <fmt/format.h>

#include "core/error.h"

namespace duet::mpi {

void throw_error(int result, const char* call, const char* file, int line) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(result, words, &length);
  const std::string path = file;
  const std::size_t root = path.rfind("src/");
  throw Error(fmt::format("{}: {} at {}:{}", call, words,
                          root == std::string::npos ? path : path.substr(root + 4), line));
}

}  // namespace duet::mpi
