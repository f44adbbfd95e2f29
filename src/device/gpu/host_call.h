// A function that a stream calls on the CPU, in stream order.
#pragma once

#include <memory>
#include <utility>

#include "core/error.h"
#include "device/gpu/stream.h"
#include "device/gpu/vendor_calls.h"

namespace duet::DUET_GPU {

// `function` must not throw and must not call the runtime. It is kept until it has run, once:
// throws Unavailable on a stream that is captured.
template <typename Function>
void call_on_host(gpuStream_t stream, Function function) {
  if (is_captured(stream)) throw Unavailable("a function on the CPU is not captured");
  auto kept = std::make_unique<Function>(std::move(function));
  stream_call(
      stream,
      [](void* data) {
        const std::unique_ptr<Function> held(static_cast<Function*>(data));
        (*held)();
      },
      kept.get());
  static_cast<void>(kept.release());  // the stream's now
}

}  // namespace duet::DUET_GPU
