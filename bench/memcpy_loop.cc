// Compares Duet's host copy with a plain memcpy loop of the same size, interleaved in one process.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "copy/cases.h"
#include "core/units.h"

namespace {

double now() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

// The median time of a memcpy between two vectors, over as many calls as fit into half a second.
double plain_loop(std::size_t bytes) {
  std::vector<char> from(bytes, 1), to(bytes, 2);
  std::vector<double> seconds;
  const double end = now() + 0.5;
  while (seconds.size() < 10 || (now() < end && seconds.size() < 2000)) {
    const double begin = now();
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" ::"r"(to.data()) : "memory");
    seconds.push_back(now() - begin);
  }
  return duet::summarise(seconds).median;
}

double duet_copy(duet::Machine& machine, std::size_t bytes) {
  duet::CopyOptions options;
  options.kinds = {duet::CopyKind::local};
  options.executors = {duet::Executor::host};
  options.sizes = {bytes};
  options.device_name = machine.name();
  // Takes the last case, because the CPU's copy peak may come before it.
  const auto measurement = duet::copy_benchmark(machine, options, {}).cases.back().run();
  return duet::summarise(measurement.sampling->samples).median;
}

}  // namespace

int main() {
  const auto machine = duet::open_machine("host");
  fmt::print("{:>10} {:>16} {:>16} {:>8}   (bytes copied / time)\n", "size", "plain GB/s",
             "duet GB/s", "ratio");
  for (std::size_t bytes = 1 << 20; bytes <= 1u << 30; bytes *= 4) {
    std::vector<double> plain, own;
    for (int round = 0; round < 3; ++round) {
      plain.push_back(plain_loop(bytes));
      own.push_back(duet_copy(*machine, bytes));
    }
    const double p = duet::summarise(plain).median, d = duet::summarise(own).median;
    const double size = static_cast<double>(bytes) / 1e9;
    fmt::print("{:>10} {:>16.2f} {:>16.2f} {:>8.3f}\n", duet::format_bytes(bytes), size / p,
               size / d, p / d);
  }
}
