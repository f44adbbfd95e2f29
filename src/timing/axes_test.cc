#include "timing/axes.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

const Axes kAxes = {{"kind", std::string("peer")},
                    {"bytes", std::int64_t{4096}},
                    {"in_place", true},
                    {"sets", std::vector<std::string>{"llama"}}};

TEST(Axes, GiveAValueOfItsTypeOrNothing) {
  EXPECT_EQ(kAxes.text("kind"), "peer");
  EXPECT_EQ(kAxes.number("bytes"), 4096);
  EXPECT_EQ(kAxes.flag("in_place"), true);
  EXPECT_FALSE(kAxes.text("bytes"));
  EXPECT_FALSE(kAxes.number("in_place"));
  EXPECT_FALSE(kAxes.flag("no such axis"));
  EXPECT_EQ(kAxes.find("no such axis"), nullptr);
}

TEST(Axes, KeepTheirOrder) {
  Axes axes = kAxes.without({"bytes", "no such axis"});
  axes.set("ranks", std::int64_t{8});
  axes.set("kind", std::string("local"));
  EXPECT_EQ(axes, (Axes{{"kind", std::string("local")},
                        {"in_place", true},
                        {"sets", std::vector<std::string>{"llama"}},
                        {"ranks", std::int64_t{8}}}));
}

TEST(Axes, KeysAreOfNamesAndValuesInAnyOrderWithoutLabels) {
  Axes turned = kAxes.without({"kind", "sets"});
  turned.set("kind", std::string("peer"));
  EXPECT_EQ(turned.key(), kAxes.key());
  EXPECT_NE(kAxes.without({"in_place"}).key(), kAxes.key());
  const auto key = [](AxisValue value) { return Axes{{"bytes", std::move(value)}}.key(); };
  EXPECT_NE(key(std::int64_t{1}), key(1.0));
  EXPECT_NE(key(std::int64_t{1}), key(std::string("1")));
  EXPECT_NE(key(true), key(std::string("true")));
}

TEST(Axes, KeysTellTextsApartWhateverTheyContain) {
  const Axes two = {{"a", std::string("x")}, {"b", std::string("y")}};
  const Axes one = {{"a", std::string("x;1:b=3:1:y")}};
  EXPECT_NE(two.key(), one.key());
}

}  // namespace
}  // namespace duet
