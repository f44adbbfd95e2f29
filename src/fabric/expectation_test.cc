#include <gtest/gtest.h>

#include "fabric/workload.h"
#include "timing/work.h"
#include "verdict/expectation_fixture.h"

namespace duet {
namespace {

using FabricExpectations = Expectations;

// A one-way transfer over four rails of 100 Gbit/s, or over one of them.
Record message(const char* operation, const char* mode, double bytes, int window) {
  Record record = result("fabric",
                         {{"operation", operation},
                          {"mode", mode},
                          {"rails", 4},
                          {"bytes", bytes},
                          {"window", window},
                          {"messages", 8}},
                         {});
  const double link = std::string(mode) == "single" ? 100.0 : 400.0;
  record.cost.more = {{kNetworkBytes, bytes}, {kLinkGbitPerS, link}};
  return record;
}

TEST_F(FabricExpectations, MessagesAreHeldAgainstTheirLinks) {
  const auto expected = [&](const char* operation, const char* mode, double bytes, int window) {
    return expect_fabric(message(operation, mode, bytes, window), site()).expected;
  };
  EXPECT_DOUBLE_EQ(*expected("write", "single", 64 * kMiB, 1), 97);
  EXPECT_DOUBLE_EQ(*expected("write", "split", 64 * kMiB, 1), 380);
  EXPECT_DOUBLE_EQ(*expected("read", "round_robin", 64 * kMiB, 8), 380);
  EXPECT_DOUBLE_EQ(*expected("read", "round_robin", 64 * kMiB, 1), 95);  // one rail at a time
  EXPECT_DOUBLE_EQ(*expected("send_recv", "single", 64 * kMiB, 1), 48);
  EXPECT_DOUBLE_EQ(*expected("write", "single", kMiB, 8), 97);
  EXPECT_FALSE(expected("write", "single", kMiB, 4).has_value());
  EXPECT_FALSE(expected("all_to_all", "split", 64 * kMiB, 8).has_value());
  EXPECT_DOUBLE_EQ(*expect_fabric(message("write", "single", 1, 1), site()).bound, 100);
}

TEST_F(FabricExpectations, MessagesThatTakeAnotherWayHaveNone) {
  Record record = message("write", "single", 64 * kMiB, 1);
  record.id.axes.set("memory_path", "staged");
  EXPECT_FALSE(expect_fabric(record, site()).expected.has_value());
  record.id.axes.set("memory_path", "direct");
  EXPECT_TRUE(expect_fabric(record, site()).expected.has_value());
  record.id.axes.set("issue", "blocking");
  EXPECT_FALSE(expect_fabric(record, site()).expected.has_value());
  record.id.axes.set("issue", "nonblocking");
  record.cost.more.set(kLinkGbitPerS, 0);
  const Expectation unknown = expect_fabric(record, site());
  EXPECT_FALSE(unknown.bound.has_value());
  EXPECT_NE(unknown.unknown.find("--link-gbit"), std::string::npos);
}

}  // namespace
}  // namespace duet
