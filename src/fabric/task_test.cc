#include "fabric/task.h"

#include <gtest/gtest.h>

#include <set>

namespace duet {
namespace {

FabricTask task_of(FabricOperation operation, bool bidirectional = false) {
  FabricTask task;
  task.operation = operation;
  task.bytes = 1000;
  task.messages = 3;
  task.bidirectional = bidirectional;
  return task;
}

TEST(Task, DataGoFromProcess0UnlessTheyAreRead) {
  const FabricTask write = task_of(FabricOperation::write);
  EXPECT_TRUE(write.sends(0) && write.receives(1));
  EXPECT_FALSE(write.sends(1) || write.receives(0));
  const FabricTask read = task_of(FabricOperation::read);
  EXPECT_TRUE(read.sends(1) && read.receives(0));
  EXPECT_FALSE(read.sends(0) || read.receives(1));
  EXPECT_TRUE(read.moves(0));
  EXPECT_FALSE(read.moves(1));
  for (const FabricTask& both :
       {task_of(FabricOperation::send_recv), task_of(FabricOperation::write, true)}) {
    for (const int process : {0, 1}) EXPECT_TRUE(both.sends(process) && both.receives(process));
  }
}

TEST(Task, EachMessageHasMemoryOfItsOwn) {
  const FabricLoad load = load_of(task_of(FabricOperation::write), 0, 2);
  ASSERT_EQ(load.messages.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(load.messages[i].peer, 1);
    EXPECT_EQ(load.messages[i].local, 1000 * i);
    EXPECT_EQ(load.messages[i].remote, 1000 * i);
  }
}

TEST(Task, MessagesUseFewerPlacesInRotation) {
  FabricTask task = task_of(FabricOperation::write);
  task.places = 2;
  EXPECT_EQ(buffer_bytes(task, 2), 2000u);
  const FabricLoad load = load_of(task, 0, 2);
  EXPECT_EQ(load.messages[1].remote, 1000u);
  EXPECT_EQ(load.messages[2].local, 0u);
  EXPECT_EQ(load.messages[2].remote, 0u);
  EXPECT_EQ(load.messages[2].sequence, 2u);
  task.places = 9;
  EXPECT_EQ(buffer_bytes(task, 2), 3000u);
}

TEST(Task, AllToAllLeavesEveryPairAPlaceAndARail) {
  constexpr int kProcesses = 4;
  FabricTask task = task_of(FabricOperation::all_to_all, true);
  task.messages = kProcesses - 1;
  EXPECT_EQ(buffer_bytes(task, kProcesses), 4000u);
  for (int self = 0; self < kProcesses; ++self) {
    std::set<int> peers;
    for (const Message& message : load_of(task, self, kProcesses).messages) {
      peers.insert(message.peer);
      EXPECT_EQ(message.local, 1000u * static_cast<unsigned>(message.peer));
      EXPECT_EQ(message.remote, 1000u * static_cast<unsigned>(self));
      EXPECT_EQ(message.sequence, static_cast<unsigned>(message.peer + self));
    }
    EXPECT_EQ(peers.size(), 3u);
    EXPECT_EQ(peers.count(self), 0u);
  }
}

}  // namespace
}  // namespace duet
