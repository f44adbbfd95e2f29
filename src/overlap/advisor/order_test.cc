// Orders of works by what they need.
#include "overlap/advisor/order.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

TEST(Order, PutsWhatNeedsLittleFirst) {
  const std::vector<WorkNeed> works = {{"gemm", workgroups(GemmProblem{8192, 8192, 64})},
                                       {"all_gather", 32},
                                       {"copies", 0},
                                       {"all_to_all", 32}};
  EXPECT_DOUBLE_EQ(works[0].workgroups, 64 * 32);
  EXPECT_EQ(order_by_need(works), (std::vector<std::size_t>{2, 1, 3, 0}));
}

}  // namespace
}  // namespace duet
