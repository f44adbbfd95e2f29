// What a file is decides how it is written: only a regular one is ever replaced.
#include "core/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/error.h"
#include "core/message_fixture.h"
#include "core/stored_file.h"

namespace duet {
namespace {

class OutputFiles : public ::testing::Test {
 protected:
  OutputFiles() : folder_(::testing::TempDir() + "duet-output-" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~OutputFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static mode_t kind_of(const std::string& path) {
    struct stat facts {};
    return ::lstat(path.c_str(), &facts) == 0 ? facts.st_mode & S_IFMT : 0;
  }
  static std::string refusal(const std::string& path) {
    return message_of<UsageError>([&] { OutputFile::write_whole(path, "text"); });
  }

  std::string folder_;
};

TEST_F(OutputFiles, ARegularFileAndNoneAreReplaced) {
  OutputFile::write_whole(path("file"), "one, longer");
  OutputFile::write_whole(path("file"), "two");
  EXPECT_EQ(text_of(path("file")), "two");
  std::filesystem::create_symlink("file", path("link"));
  OutputFile::write_whole(path("link"), "three");
  EXPECT_EQ(kind_of(path("link")), static_cast<mode_t>(S_IFLNK));
  EXPECT_EQ(text_of(path("file")), "three");
}

TEST_F(OutputFiles, APipeIsWrittenTo) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", path("link"));
  for (const std::string name : {"pipe", "link"}) {
    std::string got;
    std::thread reader([&] { got = text_of(path("pipe")); });
    OutputFile::write_whole(path(name), "text");
    reader.join();
    EXPECT_EQ(got, "text");
  }
  EXPECT_EQ(kind_of(path("pipe")), static_cast<mode_t>(S_IFIFO));
}

TEST_F(OutputFiles, APipeThatNobodyReadsEndsWhenTheRunDoes) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THROW(OutputFile::write_whole(path("pipe"), "text", [] { return true; }), Interrupted);
}

TEST_F(OutputFiles, ADeviceIsWrittenTo) {
  if (::mknod(path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "making a device takes root";
  }
  if (const int file = ::open(path("null").c_str(), O_WRONLY | O_CLOEXEC); file >= 0) {
    ::close(file);
  } else {
    GTEST_SKIP() << "devices cannot be opened on this file system";
  }
  OutputFile::write_whole(path("null"), "text");
  OutputFile::replace_whole(path("null"), "head", "head and text");
  EXPECT_THROW(StoredFile(path("null"), "test's file", "NONE").replace("text"), UsageError);
  EXPECT_EQ(kind_of(path("null")), static_cast<mode_t>(S_IFCHR));
}

TEST_F(OutputFiles, AFolderIsRefused) {
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(refusal(path("folder")), path("folder") + " cannot be written: Is a directory");
  EXPECT_THROW(StoredFile(path("folder"), "test's file", "NONE").replace("text"), UsageError);
  EXPECT_NE(refusal(path("nowhere/file")), "");
}

// The name in /dev/fd leads to a regular file, whose place another must not take: what is open
// would be lost.
TEST_F(OutputFiles, AnOpenFileIsWrittenTo) {
  const int file = ::open(path("open").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::write(file, "before ", 7), 7);
  const std::string name = fmt::format("/dev/fd/{}", file);
  EXPECT_TRUE(OutputFile::is_special(name));
  OutputFile::write_whole(name, "text");
  EXPECT_EQ(text_of(path("open")), "before text");
  struct stat opened {
  }, named{};
  ASSERT_EQ(::fstat(file, &opened), 0);
  ASSERT_EQ(::stat(path("open").c_str(), &named), 0);
  EXPECT_EQ(opened.st_ino, named.st_ino);
  ::close(file);
}

TEST_F(OutputFiles, WhatIsNotToBeWrittenStays) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write every file";
  std::ofstream(path("file")) << "precious";
  ::chmod(path("file").c_str(), 0400);
  EXPECT_EQ(refusal(path("file")), path("file") + " cannot be written: Permission denied");
  EXPECT_EQ(text_of(path("file")), "precious");
}

}  // namespace
}  // namespace duet
