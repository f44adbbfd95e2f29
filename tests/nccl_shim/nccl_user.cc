// A program of a user of NCCL. nccl_user PART; exit code 0 if all of the part was as expected, else
// a line that says what was not.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "fake_gpu/nccl/nccl_calls.h"

namespace {

int failures = 0;

void expect(bool met, const char* what) {
  if (met) return;
  std::printf("not met: %s\n", what);
  ++failures;
}

template <typename Pointer>
Pointer number(std::uintptr_t value) {
  return reinterpret_cast<Pointer>(value);
}

using Reduce = decltype(&ncclReduce);

int reduce(Reduce function) {
  return function(number<void*>(1), number<void*>(2), 3, 4, 5, 6, number<ncclComm_t>(7),
                  number<void*>(8));
}

// Twice: the first call binds, the second goes straight on.
void check_seen() {
  for (int i = 0; i < 2; ++i) expect(reduce(ncclReduce) == 0, "ncclReduce arrives as called");
}

void check_passed_on() {
  int version = 0;
  expect(ncclGetVersion(&version) == 0 && version == 22899, "the version is the real NCCL's");
  for (int i = 0; i < 2; ++i) {
    const ncclTeam team = ncclTeamWorld(nullptr);
    expect(team.count == 11 && team.rank == 12 && team.stride == 13, "a struct is returned");
  }
  expect(std::strcmp(ncclGetErrorString(1), "of the fake") == 0, "a text is returned");
}

// Prints which library the program's calls go to.
void print_library(const char* function) {
  Dl_info info{};
  if (dladdr(dlsym(RTLD_DEFAULT, function), &info) != 0)
    std::printf("%s: %s\n", function, info.dli_fname);
}

}  // namespace

int main(int argc, char** argv) {
  const char* part = argc == 2 ? argv[1] : "";
  if (std::strcmp(part, "forwarding") == 0) {
    check_seen();
    check_passed_on();
    print_library("ncclReduce");
    print_library("ncclGetVersion");
  } else if (std::strcmp(part, "by_name") == 0) {  // of the replacement, as vLLM calls NCCL
    const auto strong = reinterpret_cast<Reduce>(dlsym(RTLD_DEFAULT, "pncclReduce"));
    expect(strong != nullptr && reduce(strong) == 0, "pncclReduce arrives as called");
    const auto newer =
        reinterpret_cast<decltype(&ncclCommSuspend)>(dlsym(RTLD_DEFAULT, "ncclCommSuspend"));
    expect(newer != nullptr && newer(nullptr, 0) == duet::nccl::kInvalidUsage,
           "a function that the real NCCL has not is refused");
  } else if (std::strcmp(part, "reduce") == 0) {
    const int result = reduce(ncclReduce);
    std::printf("ncclReduce: %d\n", result);
    std::printf("that is: %s\n", ncclGetErrorString(result));
    std::printf("last error: %s\n", ncclGetLastError(nullptr));
  } else {
    std::fprintf(stderr, "nccl_user: expected forwarding, by_name or reduce, not '%s'\n", part);
    return 2;
  }
  return failures == 0 ? 0 : 1;
}
