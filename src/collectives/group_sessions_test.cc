#include "collectives/group_sessions.h"

#include <gtest/gtest.h>

#include "collectives/own_engines.h"
#include "core/message_fixture.h"
#include "team/processes_fixture.h"

namespace duet {
namespace {

// Process 0 has a rank of both groups, process 1 of one: it would not open a second session.
TEST(GroupSessions, ProcessesWithDifferentNumbersOfGroupsAreRefused) {
  run_processes(2, [](Processes& processes) {
    const auto machine = open_machine(processes.index() == 0 ? "host:3" : "host:1");
    Team team(*machine, {}, &processes);
    const auto engine = make_dma_collectives();
    const std::string refused = message_of<Unavailable>(
        [&] { GroupSessions(team, consecutive_groups(team.size(), 2), *engine); });
    EXPECT_TRUE(contains(refused, "rank 0 has 2, that of rank 3 has 1")) << refused;
  });
}

}  // namespace
}  // namespace duet
