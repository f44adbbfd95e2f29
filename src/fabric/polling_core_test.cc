#include "fabric/polling_core.h"

#include <gtest/gtest.h>

#include "core/thread.h"

namespace duet {
namespace {

TEST(PollingCore, BindsItsThreadUntilItIsReleased) {
  const std::vector<int> before = allowed_cores();
  {
    PollingCore core(before.back());
    core.hold();
    EXPECT_EQ(allowed_cores(), std::vector<int>{before.back()});
    core.hold();
    core.release();
    EXPECT_EQ(allowed_cores(), before);
    core.hold();
  }
  EXPECT_EQ(allowed_cores(), before);
  PollingCore none(std::nullopt);
  none.hold();
  EXPECT_EQ(allowed_cores(), before);
}

}  // namespace
}  // namespace duet
