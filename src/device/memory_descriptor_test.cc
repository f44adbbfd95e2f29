// Descriptors of shared memory, counted mappings, and lent file descriptors.
#include "device/memory_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "core/packing.h"
#include "device/descriptors.h"
#include "device/imports.h"
#include "device/machine.h"

namespace duet {
namespace {

MemoryDescriptor example(std::uint64_t id, std::uint64_t offset = 8) {
  return {"host", this_place(), 1,
          offset, 16,           {{4096, 64, id, std::string("a\0b", 3)}, {8192, 64, id, ""}}};
}

TEST(MemoryDescriptor, IsTheSameFromItsText) {
  const MemoryDescriptor there = MemoryDescriptor::parse(example(7).text());
  EXPECT_EQ(there.text(), example(7).text());
  EXPECT_EQ(there.segments.at(0).handle.size(), 3u);
  EXPECT_EQ(there.mapped_bytes(), 128u);
  EXPECT_EQ(there.key(), example(7, 0).key());
  EXPECT_NE(there.key(), example(8).key());
}

TEST(MemoryDescriptor, RefusesOtherText) {
  EXPECT_THROW(MemoryDescriptor::parse(""), Error);
  EXPECT_THROW(MemoryDescriptor::parse(example(7).text().substr(0, 60)), Error);
  EXPECT_THROW(MemoryDescriptor::parse(example(7, 113).text()), Error);
}

TEST(MemoryDescriptor, RefusesNumbersThatAreNone) {
  const auto refused = [](std::size_t field, const std::string& text) {
    std::vector<std::string> items = unpack(example(7).text());
    items[field] = text;
    EXPECT_THROW(MemoryDescriptor::parse(pack(items)), Error) << field << " " << text;
  };
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "0x10", "1e3", "99999999999999999999"}) {
    for (const std::size_t field : {2u, 3u, 4u}) refused(field, text);
  }
  refused(2, "0");
  refused(2, "4294967297");  // would be 1 if truncated to 32 bits
  const auto with = [](std::uint64_t base, std::uint64_t bytes, std::uint64_t more) {
    MemoryDescriptor descriptor = example(7, 0);
    descriptor.segments = {{base, bytes, 7, ""}, {8192, more, 7, ""}};
    return descriptor.text();
  };
  EXPECT_THROW(MemoryDescriptor::parse(with(4096, ~0ull - 4096, 4098)),
               Error);  // the sum overflows to 1
  EXPECT_THROW(MemoryDescriptor::parse(with(~0ull - 10, 64, 64)), Error);
  EXPECT_THROW(MemoryDescriptor::parse(with(4096, 0, 64)), Error);
}

// Another process of this user, which lives as long as this object. Tests use its file descriptors
// as the handles of a peer's text.
class Other {
 public:
  Other() : process_(fork()) {
    if (process_ == 0) {
      for (;;) pause();
    }
  }
  ~Other() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  int process() const { return process_; }

 private:
  pid_t process_;
};

class Handles : public ::testing::Test {
 protected:
  // Whether a peer's text with this handle (a descriptor or a path) of the other process can be
  // mapped.
  static bool mapped(const Other& other, const std::string& handle, std::uint64_t bytes) {
    const auto machine = open_machine("host");
    const MemoryDescriptor said{"host", this_place(), other.process(),
                                0,      bytes,        {{4096, bytes, 1, handle}}};
    try {
      machine->device(0).close_import(
          machine->device(0).import_memory(MemoryDescriptor::parse(said.text())));
      return true;
    } catch (const Unavailable&) {
      return false;
    }
  }
};

TEST_F(Handles, AreNumbersOfDescriptors) {
  const std::string path = ::testing::TempDir() + "duet-handle-" + std::to_string(getpid());
  std::ofstream(path) << std::string(4096, 'x');
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  const Other other;
  EXPECT_FALSE(mapped(other, "../../.." + path, 4096));
  EXPECT_FALSE(mapped(other, std::to_string(file), 4096));
  EXPECT_FALSE(mapped(other, std::to_string(file) + " ", 4096));
  unlink(path.c_str());
  EXPECT_FALSE(mapped(other, std::to_string(file), 4096));
  close(file);
}

TEST_F(Handles, AreOfMemoryThatKeepsItsSize) {
  const auto machine = open_machine("host");
  machine->make_shareable();
  const Buffer memory = machine->device(0).allocate(8192);
  const std::string handle = machine->device(0).export_memory(memory.span()).segments.at(0).handle;
  const int loose = memfd_create("duet", MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(loose, 8192), 0);
  const Other other;
  EXPECT_TRUE(mapped(other, handle, 8192));
  EXPECT_FALSE(mapped(other, handle, 4096));
  EXPECT_FALSE(mapped(other, handle, 1 << 20));
  EXPECT_FALSE(mapped(other, std::to_string(loose), 8192));
  EXPECT_NE(ftruncate(std::stoi(handle), 0), 0);
  close(loose);
}

TEST(MemoryDescriptor, IsOfAnotherProcessOfThisMachine) {
  EXPECT_NO_THROW(require_mappable(example(1), "host"));
  EXPECT_THROW(require_mappable(example(1), "cuda"), Unavailable);
  MemoryDescriptor elsewhere = example(1);
  elsewhere.place = "elsewhere";
  EXPECT_THROW(require_mappable(elsewhere, "host"), Unavailable);
  MemoryDescriptor own = example(1);
  own.process = getpid();
  EXPECT_THROW(require_mappable(own, "host"), Unavailable);
}

TEST(MemoryDescriptor, IsNotMadeByDevicesThatWereNotTold) {
  const auto machine = open_machine("host");
  const Buffer before = machine->device(0).allocate(64);
  EXPECT_THROW(machine->device(0).export_memory(before.span()), Unavailable);
  machine->make_shareable();
  const Buffer after = machine->device(0).allocate(5 << 20);
  const MemoryDescriptor descriptor = machine->device(0).export_memory(after.slice(4096, 100));
  EXPECT_EQ(descriptor.offset, 4096u);
  EXPECT_EQ(descriptor.bytes, 100u);
  int word[2] = {1, 2};
  EXPECT_THROW(machine->device(0).export_memory(machine->device(0).adopt(word, sizeof word)),
               Unavailable);
  const auto simulated = open_machine("sim:mi300x-8");
  EXPECT_THROW(simulated->device(0).adopt(word, sizeof word), Unavailable);
  EXPECT_THROW(simulated->device(0).import_memory(descriptor), Unavailable);
}

TEST(Imports, MapOnceAndCloseWithTheLastUse) {
  std::byte memory[2][128];
  std::string calls;
  {
    Imports imports(
        [&](const MemoryDescriptor& descriptor) {
          calls += "+";
          return memory[descriptor.segments.at(0).id];
        },
        [&](std::byte* data, const MemoryDescriptor&) { calls += data == memory[0] ? "a" : "b"; });
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

TEST(DescriptorServer, LendsUntilItTakesBack) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string loan = DescriptorServer::instance().lend(ends[1]);
  const int copy = borrow(getpid(), loan);
  EXPECT_NE(copy, ends[1]);
  char byte = 'x';
  EXPECT_EQ(write(copy, &byte, 1), 1);
  byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  DescriptorServer::instance().take_back(loan);
  EXPECT_THROW(borrow(getpid(), loan), Unavailable);
  close(copy);
  close(ends[0]);
}

// A peer's text must name neither a socket of another process nor anything but a descriptor.
TEST(DescriptorServer, IsTheProcessThatIsSaidToLend) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string loan = DescriptorServer::instance().lend(ends[1]);
  EXPECT_THROW(borrow(getppid(), loan), Unavailable);
  const std::string name = loan.substr(loan.find(' '));
  for (const std::string& text :
       std::vector<std::string>{"x" + name, "-1" + name, "1x" + name, name, "1 @/tmp/.X11-unix/X0",
                                loan + "/x", "1 " + std::string(200, 'a'), std::string("1")}) {
    EXPECT_THROW(borrow(getpid(), text), Unavailable) << text;
  }
  DescriptorServer::instance().take_back(loan);
  close(ends[0]);
}

TEST(DescriptorServer, AnswersBesideThoseWhoSayNothing) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string loan = DescriptorServer::instance().lend(ends[1]);
  const std::string name = loan.substr(loan.find(' ') + 1);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  std::vector<int> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(silent.back(), reinterpret_cast<sockaddr*>(&address), length), 0);
  }
  const auto begin = std::chrono::steady_clock::now();
  close(borrow(getpid(), loan));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  for (const int each : silent) close(each);
  DescriptorServer::instance().take_back(loan);
  close(ends[0]);
}

// Another process, which has free descriptors, sends a request while this process has none.
TEST(DescriptorServer, OutlivesALackOfDescriptors) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string loan = DescriptorServer::instance().lend(ends[1]);
  const int lender = getpid();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const auto asks = [&] {
    const pid_t child = fork();
    if (child == 0) {
      setrlimit(RLIMIT_NOFILE, &before);
      try {
        borrow(lender, loan);
        _exit(0);
      } catch (...) {
        _exit(1);
      }
    }
    return child;
  };
  rlimit none = before;
  none.rlim_cur = 8;
  setrlimit(RLIMIT_NOFILE, &none);
  std::vector<int> copies;
  for (int copy = dup(0); copy >= 0; copy = dup(0)) copies.push_back(copy);
  const pid_t during = asks();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (const int copy : copies) close(copy);
  setrlimit(RLIMIT_NOFILE, &before);
  for (const pid_t child : {during, asks()}) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  DescriptorServer::instance().take_back(loan);
  close(ends[0]);
}

}  // namespace
}  // namespace duet
