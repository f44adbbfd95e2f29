#include "collectives/nccl/within.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "core/error.h"

namespace duet::nccl {
namespace {

const auto kNever = [] { return false; };

// within() must not return before the call's own objects are destroyed: one may be a stream, which
// must be destroyed before its machine.
TEST(Within, ReturnsWhenWhatTheCallOwnedIsGone) {
  std::atomic<bool> gone{false};
  const auto slowly = [&gone](int* what) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    delete what;
    gone = true;
  };
  std::shared_ptr<int> owned(new int, slowly);
  within(60, "a call", kNever, [owned = std::move(owned)] {});
  EXPECT_TRUE(gone);
}

TEST(Within, RethrowsAndGivesUp) {
  EXPECT_THROW(within(60, "a call", kNever, [] { throw BadArgument("no"); }), BadArgument);
  std::promise<void> enough;
  const auto wait = [may_end = enough.get_future().share()] { may_end.wait(); };
  EXPECT_THROW(within(0.01, "a call", kNever, wait), Timeout);
  const auto always = [] { return true; };
  EXPECT_THROW(within(60, "a call", always, wait), Error);
  enough.set_value();  // ends the detached threads
}

}  // namespace
}  // namespace duet::nccl
