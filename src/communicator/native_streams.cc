#include "communicator/native_streams.h"

namespace duet {

Stream& NativeStreams::wrapped(void* native) {
  for (const auto& stream : streams_) {
    if (stream->native() == native) return *stream;
  }
  streams_.push_back(device_.wrap(native));
  return *streams_.back();
}

}  // namespace duet
