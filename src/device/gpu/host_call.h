#pragma once

#include <memory>
#include <utility>

#include "core/error.h"
#include "device/gpu/stream.h"
#include "device/gpu/vendor_calls.h"

namespace duet::DUET_GPU {

// Enqueues a call of `function` on the CPU, in stream order. `function` must not throw and must not
// call the runtime. It is destroyed after it has run once. Throws Unavailable on a stream that is
// being captured, because a graph could run the function more than once.
template <typename Function>
void call_on_host(gpuStream_t stream, Function function) {
  if (is_captured(stream)) throw Unavailable("a function on the CPU cannot be captured");
  auto kept = std::make_unique<Function>(std::move(function));
  stream_call(
      stream,
      [](void* data) {
        const std::unique_ptr<Function> held(static_cast<Function*>(data));
        (*held)();
      },
      kept.get());
  static_cast<void>(kept.release());  // owned by the stream from here on
}

}  // namespace duet::DUET_GPU
