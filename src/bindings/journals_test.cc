#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "bindings/duet.h"

namespace {

TEST(CInterface, JournalsHaveVerdicts) {
  std::ifstream file(DUET_A_JOURNAL);
  std::stringstream text;
  text << file.rdbuf();
  const std::string journal = text.str();
  ASSERT_NE(journal, "");
  duet_text* verdicts = nullptr;
  ASSERT_EQ(duet_verdicts("a.jsonl", journal.data(), journal.size(), &verdicts), DUET_OK)
      << duet_last_error();
  EXPECT_NE(std::string(duet_text_data(verdicts)).find("\"word\":\"PASS\""), std::string::npos);
  EXPECT_EQ(duet_text_length(verdicts), std::strlen(duet_text_data(verdicts)));
  duet_text_free(verdicts);
  EXPECT_EQ(duet_verdicts("a.jsonl", "no\n", 3, &verdicts), DUET_USAGE_ERROR);
  EXPECT_NE(std::string(duet_last_error()).find("a.jsonl:1"), std::string::npos)
      << duet_last_error();
}

}  // namespace
