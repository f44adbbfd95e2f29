// A deadline for calls that have none.
#pragma once

#include <functional>
#include <string>

namespace duet::nccl {

// Runs `call` on a thread of its own and rethrows its error. Throws Timeout naming `what` after the
// deadline, or Error as soon as `given_up` says that it is in vain; the thread is then left to
// itself, so that `call` must own all that it uses.
void within(double deadline_seconds, const std::string& what, const std::function<bool()>& given_up,
            std::function<void()> call);

}  // namespace duet::nccl
