#pragma once

#include <mpi.h>

namespace duet::mpi {

// Throws Error with the call, MPI's text for the result and the source location.
[[noreturn]] void throw_error(int result, const char* call, const char* file, int line);

}  // namespace duet::mpi

#define DUET_MPI_CHECK(...)                                                        \
  do {                                                                             \
    const int duet_mpi_result = (__VA_ARGS__);                                     \
    if (duet_mpi_result != MPI_SUCCESS) {                                          \
      ::duet::mpi::throw_error(duet_mpi_result, #__VA_ARGS__, __FILE__, __LINE__); \
    }                                                                              \
  } while (false)
