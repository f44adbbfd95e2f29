// Files are replaced atomically, by one writer or by several.
#include "core/part_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "core/stored_file.h"

namespace {

// Called once, before the next flock().
std::function<void()> before_flock;

}  // namespace

// In the place of the C library's.
extern "C" int flock(int file, int operation) noexcept {
  if (const auto call = std::exchange(before_flock, nullptr)) call();
  return static_cast<int>(::syscall(SYS_flock, file, operation));
}

namespace duet {
namespace {

class PartFiles : public ::testing::Test {
 protected:
  PartFiles() : folder_(::testing::TempDir() + "duet-part-" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~PartFiles() override { std::filesystem::remove_all(folder_); }

  std::string target() const { return folder_ + "/target"; }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  long files() const {
    return std::distance(std::filesystem::directory_iterator(folder_),
                         std::filesystem::directory_iterator());
  }

  std::string folder_;
};

TEST_F(PartFiles, TakeTheirPlaceAsAWhole) {
  std::ofstream(target()) << "old";
  chmod(target().c_str(), 0600);
  {
    PartFile file(target());
    ASSERT_TRUE(file.write("new"));
    EXPECT_EQ(text_of(target()), "old");
    ASSERT_TRUE(file.put_in_place());
  }
  EXPECT_EQ(text_of(target()), "new");
  struct stat facts {};
  ASSERT_EQ(stat(target().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_EQ(files(), 1);
}

TEST_F(PartFiles, AreNotLeftBehind) {
  { EXPECT_TRUE(PartFile(target()).write("not in its place")); }
  EXPECT_EQ(files(), 0);
  EXPECT_FALSE(PartFile("/nowhere/at/all").open());
}

TEST_F(PartFiles, TakeThePlaceOfNothingButAFile) {
  PartFile early(target());
  EXPECT_TRUE(early.write("a pipe's place"));
  ASSERT_EQ(mkfifo(target().c_str(), 0600), 0);
  EXPECT_FALSE(early.put_in_place());
  EXPECT_EQ(errno, EEXIST);
  EXPECT_TRUE(std::filesystem::is_fifo(target()));
  EXPECT_FALSE(PartFile(target()).open());
  EXPECT_EQ(errno, EEXIST);
  std::filesystem::remove(target());
  std::filesystem::create_directory(target());
  EXPECT_FALSE(PartFile(target()).open());
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(files(), 1);
}

// As of a process that was killed, just now too.
TEST_F(PartFiles, ThatAreAbandonedAreRemoved) {
  PartFile written(target());
  ASSERT_TRUE(written.write("new"));
  const std::string of_others = folder_ + "/.duet-notes", abandoned = folder_ + "/.duet-1-a.part",
                    link = folder_ + "/.duet-1-c.part";
  for (const std::string& each : {of_others, abandoned}) std::ofstream(each) << "text";
  std::filesystem::create_symlink(of_others, link);
  PartFile::remove_abandoned(target());
  EXPECT_FALSE(std::filesystem::exists(abandoned));
  for (const std::string& each : {of_others, link, written.path()}) {
    EXPECT_TRUE(std::filesystem::exists(each)) << each;
  }
  EXPECT_TRUE(written.put_in_place());
  PartFile::remove_abandoned("/nowhere/at/all");
}

// Between both calls of PartFile a new file is not locked and looks abandoned.
TEST_F(PartFiles, SurviveThatOthersRemoveAbandonedOnes) {
  before_flock = [&] { PartFile::remove_abandoned(target()); };
  PartFile file(target());
  EXPECT_TRUE(file.write("text") && file.put_in_place());
  EXPECT_EQ(text_of(target()), "text");
  EXPECT_EQ(files(), 1);
}

TEST_F(PartFiles, AreNotThoseThatOthersAreRemoving) {
  int lock = -1;
  std::string taken;
  before_flock = [&] {
    taken = std::filesystem::directory_iterator(folder_)->path();
    lock = ::open(taken.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  };
  PartFile file(target());
  ::unlink(taken.c_str());
  ::close(lock);
  EXPECT_TRUE(file.write("text") && file.put_in_place());
  EXPECT_EQ(text_of(target()), "text");
}

TEST_F(PartFiles, OfSeveralWritersAreEachWhole) {
  std::atomic<bool> over{false};
  const auto text = [](int writer) { return std::string(100000, static_cast<char>('a' + writer)); };
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&, writer] {
      const StoredFile file(target(), "test's file", "NONE");
      for (int i = 0; i < 100; ++i) file.replace(text(writer));
    });
  }
  std::thread reader([&] {
    while (!over) {
      const std::string found = text_of(target());
      EXPECT_TRUE(found.empty() || found == text(found[0] - 'a')) << found.size();
    }
  });
  for (std::thread& each : writers) each.join();
  over = true;
  reader.join();
  EXPECT_EQ(text_of(target()).size(), 100000u);
  EXPECT_EQ(files(), 1);
}

TEST_F(PartFiles, AreWrittenThroughNoLink) {
  std::ofstream(folder_ + "/precious") << "precious";
  std::filesystem::create_symlink("precious", target() + "." + std::to_string(getpid()));
  StoredFile(target(), "test's file", "NONE").replace("text");
  EXPECT_EQ(text_of(folder_ + "/precious"), "precious");
  EXPECT_EQ(text_of(target()), "text");
}

}  // namespace
}  // namespace duet
