#include "device/sim/event_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace duet::sim {
namespace {

bool step(EventQueue& queue) {
  const double time = queue.next();
  if (time == kNever) return false;
  queue.begin_step(time);
  while (const EventQueue::Id id = queue.due()) queue.take(id);
  queue.run();
  return true;
}

class EventQueueTest : public ::testing::Test {
 protected:
  EventQueue::Id add(char name, double time) {
    const EventQueue::Id id = queue_.add([this, name] { order_ += name; });
    queue_.schedule(id, time);
    return id;
  }
  void run() {
    while (step(queue_)) {
    }
  }

  EventQueue queue_;
  std::string order_;
};

TEST_F(EventQueueTest, EventsAtOneTimeHappenInTheOrderInWhichTheyWereAdded) {
  add('c', 2);
  const EventQueue::Id first = add('a', 5);
  add('b', 1);
  queue_.schedule(first, 1);
  run();
  EXPECT_EQ(order_, "abc");
  EXPECT_EQ(queue_.now(), 2);
}

TEST_F(EventQueueTest, ALaterTimeReplacesAnEarlierOne) {
  const EventQueue::Id id = add('a', 1);
  queue_.schedule(id, 3);
  add('b', 2);
  run();
  EXPECT_EQ(order_, "ba");
  EXPECT_EQ(queue_.now(), 3);
}

TEST_F(EventQueueTest, WhatIsScheduledNeverStaysPending) {
  const EventQueue::Id id = add('a', 1);
  queue_.schedule(id, kNever);
  EXPECT_EQ(queue_.next(), kNever);
  EXPECT_TRUE(queue_.is_pending(id));
  queue_.schedule(id, 2);
  run();
  EXPECT_EQ(order_, "a");
  EXPECT_FALSE(queue_.is_pending(id));
}

TEST_F(EventQueueTest, CancelsWhatIsPendingAndWhatIsTaken) {
  queue_.cancel(add('a', 1));
  EventQueue::Id second = 0;
  queue_.schedule(queue_.add([&] { queue_.cancel(second); }), 1);
  second = add('b', 1);
  run();
  EXPECT_EQ(order_, "");
  queue_.cancel(second);  // has happened already
}

TEST_F(EventQueueTest, AnEventThatActsEarlyStaysPending) {
  const EventQueue::Id id = add('z', 1);
  queue_.begin_step(queue_.next());
  EXPECT_EQ(queue_.due(), id);
  queue_.take_early(id, [this] { order_ += 'e'; });
  queue_.schedule(id, 4);
  EXPECT_EQ(queue_.due(), 0u);
  queue_.run();
  EXPECT_EQ(order_, "e");
  run();
  EXPECT_EQ(order_, "ez");
  EXPECT_EQ(queue_.now(), 4);
}

// A slot is used again, an id is not.
TEST_F(EventQueueTest, AnOldIdDoesNotReachItsSlotsNextEvent) {
  const EventQueue::Id old = add('a', 1);
  run();
  const EventQueue::Id next = add('b', 2);
  EXPECT_EQ(EventQueue::slot(old), EventQueue::slot(next));
  EXPECT_NE(old, next);
  queue_.cancel(old);
  run();
  EXPECT_EQ(order_, "ab");
}

TEST_F(EventQueueTest, EventsThatAreScheduledOftenTakeLittleMemory) {
  const EventQueue::Id id = add('a', 1);
  for (int i = 0; i < 100000; ++i) queue_.schedule(id, 100000.0 - i);
  run();
  EXPECT_EQ(order_, "a");
  EXPECT_EQ(queue_.now(), 1);
  EXPECT_EQ(queue_.slots(), 1u);
}

}  // namespace
}  // namespace duet::sim
