#pragma once

#include <functional>

#include "device/device.h"

namespace duet {

// Whether what `one` enqueues on the stream takes less time than what `other` does. Both are called
// some dozen times or more, and waited for. By the medians of bursts in turns, which a device at
// its power limit needs long.
bool is_faster(Device& device, Stream& stream, const std::function<void()>& one,
               const std::function<void()>& other);

}  // namespace duet
