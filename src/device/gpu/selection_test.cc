#include "device/gpu/selection.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/message_fixture.h"

namespace duet::gpu {
namespace {

std::string refusal(const std::string& argument, int count) {
  return message_of<UsageError>(
      [&] { select_devices("cuda", parse_selection("cuda", argument), count); });
}

std::vector<int> selected(const std::string& argument, int count) {
  return select_devices("cuda", parse_selection("cuda", argument), count);
}

TEST(Selection, NothingNamedIsAll) { EXPECT_EQ(selected("", 3), (std::vector<int>{0, 1, 2})); }

TEST(Selection, KeepsTheOrderThatIsWritten) {
  EXPECT_EQ(selected("2,0", 4), (std::vector<int>{2, 0}));
  EXPECT_EQ(selected("3", 4), (std::vector<int>{3}));
}

TEST(Selection, RanksShareADevice) {
  EXPECT_EQ(selected("1:3,0", 2), (std::vector<int>{1, 1, 1, 0}));
}

TEST(Selection, NamesWhatThereIs) {
  EXPECT_EQ(refusal("7", 4), "cuda:7: there are 4 devices, 0 to 3");
  EXPECT_EQ(refusal("0,1", 1), "cuda:1: there is 1 device, number 0");
}

TEST(Selection, RefusesWhatIsNotAListOfNumbers) {
  for (const char* argument : {"x", "0,", ",0", "0,,1", "-1", "0 1", "0-3", "0x1", "1.5", " 0",
                               "0:", "0:0", "0:17", "0:2:2", "0:-1", "99999999999999999999"}) {
    EXPECT_EQ(refusal(argument, 4), std::string("cuda:") + argument +
                                        ": expected device numbers such as cuda:0 or cuda:0,1, or "
                                        "cuda:0:2 for two ranks that share device 0 (at most 16)");
  }
}

TEST(Selection, RefusesADeviceTwice) {
  EXPECT_EQ(refusal("1,1", 4),
            "cuda:1,1: device 1 is named twice; two ranks that share it are cuda:1:2");
}

}  // namespace
}  // namespace duet::gpu
