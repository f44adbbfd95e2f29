#pragma once

#include <functional>
#include <string>

namespace duet::nccl {

// Gives a deadline to a blocking call that has none: runs `call` on a new thread, waits for it and
// rethrows its error. Throws Timeout, with `what` in its message, after the deadline, and Error as
// soon as `given_up` returns true. The thread is then detached and may go on running, so `call`
// must own all that it uses.
void within(double deadline_seconds, const std::string& what, const std::function<bool()>& given_up,
            std::function<void()> call);

}  // namespace duet::nccl
