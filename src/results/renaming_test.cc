#include "results/renaming.h"

#include <gtest/gtest.h>

#include "results/compare_fixture.h"

namespace duet {
namespace {

TEST(Renaming, OtherDevicesNeedTheFlag) {
  const Record base = measured(kCase, 1, 1, 1);
  const Record sim = measured(copy_case(4096, "sim:h200-4"), 2, 2, 2);
  const JournalContents real = journal("real", {base});
  const JournalContents model = journal("model", {sim}, environment("sim:h200-4", "H200", 4));
  EXPECT_EQ(complaint(real, model, false),
            "real is of cuda (2 x NVIDIA H200), model of sim:h200-4 (4 x H200): expected the same "
            "devices; --across-devices compares them all the same");
  EXPECT_NE(complaint(real, journal("other", {base}, environment("cuda", "NVIDIA H100")), false),
            "");
  const auto cases = compare(real, model, true);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].change, Change::worse);
  EXPECT_EQ(cases[0].id.device, "cuda");
}

TEST(Renaming, ADeviceThatBaseLacksIsNoneOfIts) {
  CaseId far = copy_case(4096, "sim:h200-4");
  far.axes.set("destination", std::string("sim:h200-4:3"));
  const JournalContents real = journal("real", {measured(kCase, 1, 1, 1)});
  const JournalContents model =
      journal("model", {measured(copy_case(4096, "sim:h200-4"), 1, 1, 1), measured(far, 1, 1, 1)},
              environment("sim:h200-4", "H200", 4));
  const auto cases = compare(real, model, true);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1].change, Change::added);
  EXPECT_EQ(cases[1].id.axes.text("destination"), "sim:h200-4:3 of NEW");
}

TEST(Renaming, JournalsSayWhereTheyAreFrom) {
  const Record one = measured(kCase, 1, 1, 1);
  const JournalContents good = journal("good", {one});
  const JournalContents nowhere = parse_journal("nowhere", journal_line(one));
  EXPECT_EQ(complaint(good, nowhere, false),
            "nowhere: no environment that names a machine: expected a journal, as --json writes");
  JournalContents mixed = journal("mixed", {});
  mixed.runs.push_back({environment("cuda", "NVIDIA H100"), {one}});
  EXPECT_NE(complaint(good, mixed, true).find("mixed: holds runs on cuda:0 = NVIDIA H200"),
            std::string::npos);
  JournalContents two = journal("two", {});
  two.runs.push_back({environment("host", "CPU"), {one}});
  EXPECT_EQ(complaint(good, two, false), "");
  EXPECT_NE(complaint(good, two, true).find("expected equally many"), std::string::npos);
}

}  // namespace
}  // namespace duet
