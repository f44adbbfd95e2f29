#include "copy/transfer_list.h"

#include <gtest/gtest.h>

#include <set>

#include "copy/copy_work.h"
#include "copy/nvbandwidth_set.h"
#include "core/error.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

std::string refusal_of(const std::string& text) {
  return message_of<UsageError>([&] { parse_transfer_lists("f.txt", text, 4); });
}

TEST(TransferList, LinesAreSizesEndsExecutorsAndDirections) {
  const auto lists = parse_transfer_lists("f.txt",
                                          "# a comment\n"
                                          "1K 0 1\n"
                                          "\n"
                                          "[both ways]  # named\n"
                                          "64M 0 1 kernel pull\n"
                                          "  1G pinned 3 dma\n"
                                          "4096 2 pageable\n"
                                          "1M 2 2 kernel\n",
                                          4);
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[0].name, "list");
  EXPECT_EQ(text_of(lists[0].transfers.at(0)), "1 KiB 0>1 dma push");
  EXPECT_EQ(lists[1].name, "both ways");
  ASSERT_EQ(lists[1].transfers.size(), 4u);
  EXPECT_EQ(text_of(lists[1].transfers[0]), "64 MiB 0>1 kernel pull");
  EXPECT_EQ(lists[1].transfers[0].issuer, 1);
  EXPECT_EQ(text_of(lists[1].transfers[1]), "1 GiB pinned>3 dma");
  EXPECT_EQ(lists[1].transfers[1].issuer, 3);
  EXPECT_EQ(lists[1].transfers[2].destination.memory, MemoryKind::pageable);
  EXPECT_EQ(lists[1].transfers[2].issuer, 2);
  EXPECT_TRUE(is_local(lists[1].transfers[3]));
}

TEST(TransferList, BadLinesAreNamedByFileAndLine) {
  EXPECT_TRUE(contains(refusal_of("1K 0 1\n1K 0\n"), "f.txt:2: expected BYTES FROM TO"));
  EXPECT_TRUE(contains(refusal_of("\n1K 0 4\n"), "f.txt:2: '4': expected a device from 0 to 3"));
  EXPECT_TRUE(contains(refusal_of("1K -1 0\n"), "f.txt:1: '-1'"));
  EXPECT_TRUE(contains(refusal_of("1X 0 1\n"), "f.txt:1: "));
  EXPECT_TRUE(contains(refusal_of("0 0 1\n"), "f.txt:1: 0: expected 1 byte"));
  EXPECT_TRUE(contains(refusal_of("1K pinned pageable\n"), "a device at one end"));
  EXPECT_TRUE(contains(refusal_of("1K 0 1 nic\n"), "'nic'"));
  EXPECT_TRUE(contains(refusal_of("1K 0 1 push dma\n"), "'dma'"));
  EXPECT_TRUE(contains(refusal_of("1K 0 1 dma dma\n"), "'dma'"));
  EXPECT_TRUE(contains(refusal_of("1K 0 pageable kernel\n"), "pageable"));
  EXPECT_TRUE(contains(refusal_of("[a\n1K 0 1\n"), "f.txt:1: expected [NAME]"));
  EXPECT_TRUE(contains(refusal_of("[a]\n[b]\n1K 0 1\n"), "f.txt:2: list [a] has no"));
  EXPECT_TRUE(
      contains(refusal_of("[a]\n1K 0 1\n[a]\n1K 0 1\n"), "f.txt:3: list [a] is there twice"));
  EXPECT_TRUE(contains(refusal_of("# nothing\n"), "no transfers"));
}

Measurement measured(const std::string& device, const std::string& text) {
  auto machine = open_machine(device);
  TransferListOptions options;
  options.lists = parse_transfer_lists("f.txt", text, machine->size());
  options.mode.seconds = 0.01;
  options.device_name = device;
  const Benchmark benchmark = transfer_list_benchmark(*machine, options, {});
  return benchmark.cases.at(0).run();
}

TEST(TransferList, RunsAndVerifiesSizesExecutorsAndDirectionsTogether) {
  for (const char* device : {"host:4", "sim:h200-4"}) {
    const Measurement m = measured(
        device,
        "64K 0 1 dma push\n1M 3 1 kernel pull\n4097 2 2 kernel\n64K pinned 1\n3 1 pinned\n");
    ASSERT_TRUE(m.sampling) << device;
    EXPECT_TRUE(m.sampling->verified) << device;
    EXPECT_EQ(m.cost.wire_bytes, 65536 + (1 << 20) + 4097 + 65536 + 3) << device;
  }
}

TEST(TransferList, CopiesWithinDevicesAloneMoveMemoryBytes) {
  const Measurement m = measured("host:2", "1M 0 0 dma\n1M 1 1 kernel\n");
  EXPECT_EQ(m.cost.wire_bytes, 0);
  EXPECT_EQ(m.cost.memory_bytes, 4 << 20);
}

TEST(TransferList, EachTransferOfAListIsPoisonedAndChecked) {
  auto machine = open_machine("host:2");
  Team team(*machine);
  const auto lists = parse_transfer_lists("f.txt", "4K 0 1\n8K 1 0 kernel\n", 2);
  CopyWork work(team, lists[0].transfers);
  team.each([&](Rank& rank) { work.prepare(rank, {}); });
  for (int index = 0; index < 2; ++index) {
    EXPECT_THROW(team.each([&](Rank& rank) {
      if (rank.index == index) work.verify(rank);
    }),
                 Mismatch)
        << index;
  }
  team.each([&](Rank& rank) { work.release(rank); });
}

TEST(NvbandwidthSet, HasItsTestsByName) {
  EXPECT_EQ(nvbandwidth_tests("nvbandwidth").size(), 34u);
  EXPECT_EQ(nvbandwidth_tests("all_to_one_read_sm").size(), 1u);
  EXPECT_THROW(nvbandwidth_tests("nonsense"), UsageError);
}

TEST(NvbandwidthSet, SaysWhyATestIsNotThere) {
  const auto complains = [](const std::string& test, const std::string& of) {
    try {
      nvbandwidth_tests(test);
    } catch (const UsageError& error) {
      return std::string(error.what()).find(of) != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(complains("device_to_device_latency_sm", "chases pointers"));
  EXPECT_TRUE(complains("multinode_bisect_write_ce", "between nodes"));
  EXPECT_TRUE(complains("device_local_copy_tma", "TMA"));
  EXPECT_TRUE(complains("device_local_read_sm", "only reads"));
  EXPECT_TRUE(complains("device_local_copy_ms", "did you mean 'device_local_copy_sm'"));
}

std::vector<Case> cases_of(Machine& machine, const std::string& set) {
  NvbandwidthOptions options;
  options.tests = nvbandwidth_tests(set);
  options.bytes = 1 << 20;
  options.mode.seconds = 0.01;
  options.device_name = machine.name();
  return nvbandwidth_benchmark(machine, options, {}).cases;
}

TEST(NvbandwidthSet, TestsOfOneCopyAreEveryPairOrEveryDevice) {
  auto machine = open_machine("sim:h200-4");
  EXPECT_EQ(cases_of(*machine, "device_to_device_memcpy_write_ce").size(), 12u);
  EXPECT_EQ(cases_of(*machine, "device_to_device_bidirectional_memcpy_read_sm").size(), 6u);
  EXPECT_EQ(cases_of(*machine, "host_to_device_memcpy_sm").size(), 4u);
  EXPECT_EQ(cases_of(*machine, "device_local_copy").size(), 4u);
  EXPECT_EQ(cases_of(*machine, "device_local_copy_sm").at(0).id.axes.text("executor"), "kernel");
  const auto cases = cases_of(*machine, "device_to_device_memcpy_read_ce");
  EXPECT_EQ(cases[0].id.benchmark, "copy");
  EXPECT_EQ(cases[0].id.axes.text("issue"), "pull");
}

TEST(NvbandwidthSet, TheOthersAreListsWithTheSameTraffic) {
  auto machine = open_machine("sim:h200-4");
  const auto transfers = [&](const std::string& test) {
    std::multiset<std::int64_t> counts;
    for (const Case& one : cases_of(*machine, test)) {
      counts.insert(one.id.axes.number("transfers").value_or(0));
    }
    return counts;
  };
  using Counts = std::multiset<std::int64_t>;
  EXPECT_EQ(transfers("all_to_one_write_ce"), (Counts{3, 3, 3, 3}));
  EXPECT_EQ(transfers("one_to_all_read_sm"), (Counts{3, 3, 3, 3}));
  EXPECT_EQ(transfers("host_to_all_memcpy_ce"), (Counts{4}));
  EXPECT_EQ(transfers("all_to_host_bidirectional_memcpy_ce"), (Counts{8}));
  EXPECT_EQ(transfers("host_to_device_bidirectional_memcpy_ce"), (Counts{2, 2, 2, 2}));
  const Measurement one = cases_of(*machine, "all_to_one_read_ce").at(2).run();
  ASSERT_TRUE(one.sampling);
  EXPECT_TRUE(one.sampling->verified);
  // Those who issue copies are the others in all_to_one, the one in one_to_all.
  const auto first = [&](const std::string& test) {
    return cases_of(*machine, test).at(2).run().notes.at(0).second.substr(0, 18);
  };
  EXPECT_EQ(first("all_to_one_write_ce"), "1 MiB 0>2 dma push");
  EXPECT_EQ(first("all_to_one_read_ce"), "1 MiB 2>0 dma pull");
  EXPECT_EQ(first("one_to_all_write_ce"), "1 MiB 2>0 dma push");
  EXPECT_EQ(first("one_to_all_read_ce"), "1 MiB 0>2 dma pull");
}

TEST(NvbandwidthSet, AllOfItRunsOnOneDevice) {
  auto machine = open_machine("host");
  for (const Case& one : cases_of(*machine, "nvbandwidth")) {
    EXPECT_NE(one.id.axes.text("kind"), "peer");
  }
}

}  // namespace
}  // namespace duet
