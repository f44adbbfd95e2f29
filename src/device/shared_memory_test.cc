// Shared memory's description, mappings counted, and lent descriptors.
#include "device/shared_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "device/descriptors.h"
#include "device/imports.h"
#include "device/machine.h"

namespace duet {
namespace {

SharedMemory example(std::uint64_t id, std::uint64_t offset = 8) {
  return {"host", this_place(), 1,
          offset, 16,           {{4096, 64, id, std::string("a\0b", 3)}, {8192, 64, id, ""}}};
}

TEST(SharedMemory, IsTheSameFromItsText) {
  const SharedMemory there = SharedMemory::parse(example(7).text());
  EXPECT_EQ(there.text(), example(7).text());
  EXPECT_EQ(there.segments.at(0).handle.size(), 3u);
  EXPECT_EQ(there.mapped_bytes(), 128u);
  EXPECT_EQ(there.key(), example(7, 0).key());
  EXPECT_NE(there.key(), example(8).key());
}

TEST(SharedMemory, RefusesOtherText) {
  EXPECT_THROW(SharedMemory::parse(""), Error);
  EXPECT_THROW(SharedMemory::parse(example(7).text().substr(0, 60)), Error);
  EXPECT_THROW(SharedMemory::parse(example(7, 113).text()), Error);
}

TEST(SharedMemory, IsOfAnotherProcessOfThisMachine) {
  EXPECT_NO_THROW(require_mappable(example(1), "host"));
  EXPECT_THROW(require_mappable(example(1), "cuda"), Unavailable);
  SharedMemory elsewhere = example(1);
  elsewhere.place = "elsewhere";
  EXPECT_THROW(require_mappable(elsewhere, "host"), Unavailable);
  SharedMemory own = example(1);
  own.process = getpid();
  EXPECT_THROW(require_mappable(own, "host"), Unavailable);
}

TEST(SharedMemory, IsNotMadeByDevicesThatWereNotTold) {
  const auto machine = open_machine("host");
  const Buffer before = machine->device(0).allocate(64);
  EXPECT_THROW(machine->device(0).share(before.span()), Unavailable);
  machine->make_shareable();
  const Buffer after = machine->device(0).allocate(5 << 20);
  const SharedMemory shared = machine->device(0).share(after.slice(4096, 100));
  EXPECT_EQ(shared.offset, 4096u);
  EXPECT_EQ(shared.bytes, 100u);
  int word[2] = {1, 2};
  EXPECT_THROW(machine->device(0).share(machine->device(0).adopt(word, sizeof word)), Unavailable);
  const auto simulated = open_machine("sim:mi300x-8");
  EXPECT_THROW(simulated->device(0).adopt(word, sizeof word), Unavailable);
  EXPECT_THROW(simulated->device(0).map(shared), Unavailable);
}

TEST(Imports, MapOnceAndCloseWithTheLastUse) {
  std::byte memory[2][128];
  std::string calls;
  {
    Imports imports(
        [&](const SharedMemory& shared) {
          calls += "+";
          return memory[shared.segments.at(0).id];
        },
        [&](std::byte* data, const SharedMemory&) { calls += data == memory[0] ? "a" : "b"; });
    std::byte* first = imports.map(example(0));
    EXPECT_EQ(first, memory[0] + 8);
    EXPECT_EQ(imports.map(example(0, 32)), memory[0] + 32);
    imports.map(example(1));
    imports.unmap(first);
    EXPECT_EQ(calls, "++");
    imports.unmap(first);
    EXPECT_EQ(calls, "++a");
    imports.map(example(0));
  }
  EXPECT_EQ(calls, "++a+ab");
}

TEST(Lender, LendsUntilItTakesBack) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string loan = Lender::instance().lend(ends[1]);
  const int copy = borrow(getpid(), loan);
  EXPECT_NE(copy, ends[1]);
  char byte = 'x';
  EXPECT_EQ(write(copy, &byte, 1), 1);
  byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  Lender::instance().take_back(loan);
  EXPECT_THROW(borrow(getpid(), loan), Unavailable);
  close(copy);
  close(ends[0]);
}

}  // namespace
}  // namespace duet
