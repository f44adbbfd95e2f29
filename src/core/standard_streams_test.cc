// Closed standard streams: no file that is opened later gets their numbers.
#include "core/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

namespace duet {
namespace {

// The exit code of a process that closes the streams `which`, opens them and then calls `check`.
template <typename Check>
int without(std::initializer_list<int> which, const Check& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int each : which) ::close(each);
    open_standard_streams();
    ::_exit(check() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardStreams, ThatAreClosedAreOpened) {
  const auto next_is_no_stream = [] { return ::open("/dev/null", O_RDONLY) > STDERR_FILENO; };
  EXPECT_EQ(without({0}, next_is_no_stream), 0);
  EXPECT_EQ(without({1}, next_is_no_stream), 0);
  EXPECT_EQ(without({2}, next_is_no_stream), 0);
  EXPECT_EQ(without({0, 1, 2}, next_is_no_stream), 0);
}

TEST(StandardStreams, AreReadAndWrittenAsBefore) {
  const auto usable = [] {
    char byte = 0;
    return ::read(0, &byte, 1) == 0 && ::write(1, "a", 1) == 1 && ::write(2, "a", 1) == 1;
  };
  EXPECT_EQ(without({0, 1, 2}, usable), 0);
}

TEST(StandardStreams, ThatWereClosedAreKnown) {
  EXPECT_EQ(without({1}, [] { return was_closed(1) && !was_closed(0) && !was_closed(2); }), 0);
  EXPECT_EQ(without({}, [] { return !was_closed(0) && !was_closed(1) && !was_closed(2); }), 0);
}

}  // namespace
}  // namespace duet
