// Stands before the file of the same name: kernels run as tasks of a host stream.
#pragma once

#include "device/gpu/vendor.h"
#include "device/stream.h"

namespace duet::DUET_GPU {

struct LaunchShape {
  dim3 grid;
  unsigned threads;
  std::size_t shared_bytes = 0;
};

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, Stream& stream,
            Arguments... arguments) {
  Task task;
  task.body = [=] {
    emulation::run(shape.grid, shape.threads, shape.shared_bytes,
                   [=] { kernel(static_cast<Parameters>(arguments)...); });
  };
  stream.run(task);
}

template <typename T>
T* dynamic_shared() {
  return static_cast<T*>(emulation::shared_memory());
}

}  // namespace duet::DUET_GPU
