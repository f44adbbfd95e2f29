#include "timing/run_dry.h"

#include <algorithm>
#include <exception>

namespace duet {

void run_dry(Machine& machine, const std::vector<Stream*>& streams,
             double deadline_seconds) noexcept {
  const double until = machine.now() + deadline_seconds;
  for (Stream* stream : streams) {
    try {
      stream->synchronize(std::max(0.0, until - machine.now()));
      stream->device().finish(std::max(0.0, until - machine.now()));
    } catch (const std::exception&) {
      // The error that ended the measurement is already being thrown.
    }
  }
}

}  // namespace duet
