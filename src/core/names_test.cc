#include "core/names.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace duet {
namespace {

enum class Fruit { apple, pear, plum };
constexpr NamedValue<Fruit> kFruits[] = {{Fruit::apple, "apple"}, {Fruit::pear, "pear"}};

TEST(Names, AreReadBackAsTheirValues) {
  EXPECT_STREQ(name_of(kFruits, Fruit::pear), "pear");
  EXPECT_STREQ(name_of(kFruits, Fruit::plum), "?");
  EXPECT_EQ(parse_name(kFruits, "unknown fruit", "apple"), Fruit::apple);
  EXPECT_EQ(values_in(kFruits), (std::vector<Fruit>{Fruit::apple, Fruit::pear}));
}

TEST(Names, UnknownOnesAreAnsweredWithTheValidOnes) {
  try {
    parse_name(kFruits, "--fruit: unknown fruit", "aple");
    FAIL() << "expected a UsageError";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--fruit: unknown fruit 'aple' (did you mean 'apple'?): expected one of apple, "
                 "pear");
  }
}

}  // namespace
}  // namespace duet
