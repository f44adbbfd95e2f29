#include "timing/axes.h"

#include <gtest/gtest.h>

#include "core/error.h"

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

TEST(Axes, AreReadFromTheirKeys) {
  const Axes axes = {
      {"a", std::string("x;1:b=3:1:y")}, {"b", false}, {"c", 0.1}, {"d", std::int64_t{-7}}};
  EXPECT_EQ(Axes::from_key(axes.key()), axes);
  EXPECT_EQ(Axes::from_key(""), Axes());
  for (const char* bad : {"a", "1:a=", "1:a=0:1:x;", "1:a=3:9:x;", "1:a=9:1:x;", "1:a=3:1:x"}) {
    EXPECT_THROW(Axes::from_key(bad), BadArgument) << bad;
  }
}

}  // namespace
}  // namespace duet
