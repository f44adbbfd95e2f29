#include "overlap/policy.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

TEST(OverlapPolicies, AreReadAndNamedAlike) {
  const auto policies = parse_policies("base,partition:8,dma,priority+partition,dma+partition:16");
  ASSERT_EQ(policies.size(), 5u);
  EXPECT_EQ(policies[1], (OverlapPolicy{OverlapPolicyKind::partition, 8}));
  EXPECT_EQ(policies[3], (OverlapPolicy{OverlapPolicyKind::priority_partition, 0}));
  EXPECT_EQ(name(policies[3]), "priority+partition");
  EXPECT_EQ(name(policies[4]), "dma+partition:16");
}

TEST(OverlapPolicies, AllAreEachKindOnce) {
  EXPECT_EQ(parse_policies("all").size(), 8u);
  EXPECT_EQ(parse_policies("dma,all,dma").size(), 8u);
  EXPECT_EQ(parse_policies("dma,all,dma").front().kind, OverlapPolicyKind::dma);
}

TEST(OverlapPolicies, RefuseWhatIsNone) {
  for (const char* text :
       {"", "fast", "base:4", "partition:", "partition:0", "partition:x", "dma,"}) {
    EXPECT_THROW(parse_policies(text), UsageError) << text;
  }
  EXPECT_EQ(message_of<UsageError>([&] { parse_policies("fast"); }),
            "policy 'fast': expected all, serial, base, priority, partition, "
            "priority+partition, zero-cta, dma, dma+partition, a partition with ':' and its "
            "units where they are given");
}

}  // namespace
}  // namespace duet
