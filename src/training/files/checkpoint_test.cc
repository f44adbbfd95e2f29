// Checkpoints on the host: what is written, what is refused, and what failures leave behind.
#include "training/files/checkpoint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "core/error.h"
#include "core/random.h"
#include "device/machine.h"

namespace duet {
namespace {

using Metadata = std::map<std::string, std::string>;

// A file: the header's length, the header, `data_bytes` letters.
std::string safetensors(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text + header + std::string(data_bytes, 'x');
}

std::string with(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), now);
}

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest()
      : folder_(::testing::TempDir() + "duet-checkpoint-" + std::to_string(getpid())),
        path_(folder_ + "/model.safetensors"),
        machine_(open_machine("host")) {
    std::filesystem::create_directory(folder_);
  }
  ~CheckpointTest() override { std::filesystem::remove_all(folder_); }

  // With random bytes.
  CheckpointTensor tensor(const std::string& name, std::int64_t rows, std::int64_t columns,
                          DType dtype) {
    Tensor made{{}, rows, columns, dtype};
    buffers_.push_back(machine_->device(0).allocate(made.bytes()));
    made.span = buffers_.back().span();
    for (std::size_t i = 0; i < made.span.bytes; ++i) {
      made.span.data[i] = static_cast<std::byte>(pattern_byte(buffers_.size(), i));
    }
    return {name, made};
  }
  std::vector<CheckpointTensor> three() {
    return {tensor("block.0.norm_1.bias", 1, 5, DType::bf16),
            tensor("block.0.qkv.weight", 2, 3, DType::fp32), tensor("tokens", 1, 4, DType::int32)};
  }

  static std::string bytes_of(const CheckpointTensor& each) {
    const Span& span = each.tensor.span;
    return {reinterpret_cast<const char*>(span.data), span.bytes};
  }
  static void clear(const std::vector<CheckpointTensor>& tensors) {
    for (const CheckpointTensor& each : tensors) {
      const Span& span = each.tensor.span;
      std::fill(span.data, span.data + span.bytes, std::byte{0});
    }
  }
  static bool is_clear(const std::vector<CheckpointTensor>& tensors) {
    const auto clear = [](const CheckpointTensor& each) {
      return bytes_of(each) == std::string(each.tensor.span.bytes, '\0');
    };
    return std::all_of(tensors.begin(), tensors.end(), clear);
  }

  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // As a new file: some file systems flush one that is truncated and written again.
  void write(const std::string& bytes) const {
    std::filesystem::remove(path_);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  long files() const {
    return std::distance(std::filesystem::directory_iterator(folder_),
                         std::filesystem::directory_iterator());
  }

  // The message of the UsageError without the path; "" if there was none.
  std::string refusal(const std::function<void()>& call) const {
    try {
      call();
      return "";
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find(path_ + ": "), 0u) << message;
      EXPECT_NE(message.find(": expected "), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      return message.substr(std::min(message.size(), path_.size() + 2));
    }
  }
  std::string refusal_of(const std::string& bytes) const {
    write(bytes);
    return refusal([&] { Checkpoint{path_}; });
  }
  std::string refusal_to_load(const std::vector<CheckpointTensor>& tensors) const {
    return refusal([&] { Checkpoint(path_).load(tensors); });
  }

  std::string folder_, path_;
  std::unique_ptr<Machine> machine_;
  std::vector<Buffer> buffers_;
};

TEST_F(CheckpointTest, ComesBack) {
  std::vector<CheckpointTensor> saved = three();
  saved.push_back(tensor("half", 3, 1, DType::fp16));
  saved.push_back(tensor("state", 1, 17, DType::int8));
  saved.push_back(tensor("empty", 0, 3, DType::int8));
  const Metadata metadata{{"step", "12"}, {"model \"x\"\n", "\xc3\xa9"}};
  save_checkpoint(path_, metadata, saved);
  std::vector<std::string> expected;
  for (const CheckpointTensor& each : saved) expected.push_back(bytes_of(each));
  clear(saved);
  std::reverse(saved.begin(), saved.end());  // load() takes any order
  const Checkpoint checkpoint(path_);
  EXPECT_EQ(checkpoint.metadata(), metadata);
  checkpoint.load(saved);
  std::reverse(saved.begin(), saved.end());
  for (std::size_t i = 0; i < saved.size(); ++i) {
    EXPECT_EQ(bytes_of(saved[i]), expected[i]) << saved[i].name;
  }
  EXPECT_EQ(files(), 1);
}

TEST_F(CheckpointTest, IsASafetensorsFile) {
  const std::vector<CheckpointTensor> saved = {tensor("b", 1, 3, DType::bf16),
                                               tensor("w", 2, 1, DType::fp32)};
  save_checkpoint(path_, {{"step", "7"}}, saved);
  std::string header = R"({"__metadata__":{"step":"7"},)"
                       R"("w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(text(), safetensors(header, 0) + bytes_of(saved[1]) + bytes_of(saved[0]));
  save_checkpoint(path_, {}, {});
  EXPECT_EQ(text(), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_EQ(refusal_to_load({}), "");
}

TEST_F(CheckpointTest, OfATensorInSeveralPieces) {
  const auto columns = static_cast<std::int64_t>(kCheckpointPiece + kCheckpointPiece / 4 + 3);
  const std::vector<CheckpointTensor> saved = {tensor("large", 2, columns, DType::int8)};
  const std::string expected = bytes_of(saved[0]);
  save_checkpoint(path_, {}, saved);
  clear(saved);
  Checkpoint(path_).load(saved);
  EXPECT_TRUE(bytes_of(saved[0]) == expected);
}

// Large enough that a piece ends within a row. Of each part all elements, and some from within a
// row on.
TEST_F(CheckpointTest, OfPlacedPartsIsRead) {
  const auto columns = static_cast<std::int64_t>(kCheckpointPiece / 4 + 3);
  const CheckpointTensor whole = tensor("matrix", 7, columns, DType::int8);
  save_checkpoint(path_, {}, {whole});
  const MatrixPart places[] = {
      {7, columns, {{0, 7}}, columns / 2, columns - columns / 2},
      {7, columns, {{1, 2}, {4, 7}}, 0, columns},
  };
  for (const MatrixPart& place : places) {
    std::vector<std::byte> expected;
    for (const RowRange& each : place.ranges) {
      for (std::int64_t row = each.first; row < each.last; ++row) {
        const std::byte* const first = whole.tensor.span.data + row * columns + place.first_column;
        expected.insert(expected.end(), first, first + place.own_columns);
      }
    }
    const auto all = static_cast<std::int64_t>(expected.size());
    for (const RowRange& own : {RowRange{0, all}, RowRange{3, 4}, RowRange{columns - 5, all - 7}}) {
      CheckpointTensor part = tensor("matrix", 1, own.count(), DType::int8);
      part.part = part.tensor;
      part.tensor = {{}, 7, columns, DType::int8};
      part.place = place;
      part.first = own.first;
      Checkpoint(path_).load({part});
      EXPECT_TRUE(
          std::equal(expected.data() + own.first, expected.data() + own.last, part.part->span.data))
          << own.first;
    }
  }
}

TEST_F(CheckpointTest, WithAnotherOrderOrMoreKeysIsRead) {
  write(safetensors(R"({ "b":{"data_offsets":[0,2],"dtype":"I8","shape":[2],"more":[1]},)"
                    R"("a":{"dtype":"I8","shape":[],"data_offsets":[2,3]}} )",
                    3));
  EXPECT_EQ(refusal([&] { Checkpoint{path_}; }), "");
}

constexpr const char* kGoodHeader =
    R"({"__metadata__":{"step":"7"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
    R"("b":{"dtype":"I8","shape":[4],"data_offsets":[8,12]}})";

// In no more than n log n: otherwise a damaged or foreign file would hold up a run for hours.
TEST_F(CheckpointTest, OfManyTensorsIsRead) {
  std::string header = "{";
  for (int i = 0; i < 100000; ++i) {
    header +=
        fmt::format(R"("{}":{{"dtype":"I8","shape":[1],"data_offsets":[{},{}]}},)", i, i, i + 1);
  }
  header.back() = '}';
  EXPECT_EQ(refusal_of(safetensors(header, 100000)), "");
}

TEST_F(CheckpointTest, IsRefusedIfItsHeaderIsWrong) {
  const std::string good = kGoodHeader;
  ASSERT_EQ(refusal_of(safetensors(good, 12)), "");
  const auto damaged = [&](const std::string& old, const std::string& now) {
    return refusal_of(safetensors(with(good, old, now), 12));
  };
  const std::string a = R"({"dtype":"F32","shape":[2,1],"data_offsets":[0,8]})";
  EXPECT_EQ(damaged("}}", "}"), "header is not JSON: expected a safetensors file");
  EXPECT_EQ(damaged("{\"__", " {\"__"), "header is not JSON: expected a safetensors file");
  EXPECT_EQ(damaged("step", "st\xff"), "header is not JSON: expected a safetensors file");
  EXPECT_EQ(damaged("}}", std::string("}}\0", 3)),
            "header is not JSON: expected a safetensors file");
  EXPECT_EQ(refusal_of(safetensors("[1]", 0)), "header is not JSON: expected a safetensors file");
  EXPECT_EQ(refusal_of(safetensors("", 0)), "header is not JSON: expected a safetensors file");
  for (const char* other : {"[]", "{\"step\":7}", "\"text\"", "null", "{\"step\":{}}"}) {
    EXPECT_EQ(damaged(R"({"step":"7"})", other),
              "metadata of another type: expected texts by name");
  }
  for (const char* other : {"[1,2]", "7", "null", "\"text\"", "[]"}) {
    EXPECT_EQ(damaged(a, other), "tensor 'a': of another type: expected an object");
  }
  EXPECT_EQ(damaged(a, "{}"), "tensor 'a': \"shape\" missing or wrong: expected a list of counts");
  for (const char* other : {"7", "[2,1.0]", "[-2,1]", "[\"2\"]", "[[2]]", "[1e400]", "{\"x\":2}",
                            "[99999999999999999999]", "null", "[true]"}) {
    EXPECT_NE(damaged("[2,1]", other), "") << other;
    EXPECT_NE(damaged("[0,8]", other), "") << other;
  }
  EXPECT_EQ(damaged("\"F32\"", "32"), "tensor 'a': \"dtype\" missing or wrong: expected a text");
  EXPECT_EQ(damaged("F32", "F8_E5M2"),
            "tensor 'a': unknown dtype 'F8_E5M2': expected one of F32, BF16, F16, I32, I8");
  EXPECT_NE(damaged("F32", "a\\nb").find("unknown dtype 'a\\nb'"), std::string::npos);
  EXPECT_EQ(damaged("\"b\"", "\"a\""), "tensor 'a': twice: expected each name once");
  EXPECT_EQ(damaged("\"shape\"", "\"dtype\""), "tensor 'dtype': twice: expected each name once");
  EXPECT_EQ(damaged("[4]", "[4,[[[]]]]"), "nests deeply: expected tensors");
  EXPECT_EQ(damaged("[4]", std::string(1000000, '[')), "nests deeply: expected tensors");
}

TEST_F(CheckpointTest, IsRefusedIfItsDataDoNotFit) {
  const std::string good = kGoodHeader;
  const auto damaged = [&](const std::string& old, const std::string& now) {
    return refusal_of(safetensors(with(good, old, now), 12));
  };
  EXPECT_EQ(damaged("[2,1]", "[4294967296,4294967296]"),
            "tensor 'a': bytes of its shape overflow: expected bytes that 64 bits can count");
  EXPECT_EQ(damaged("[2,1]", "[9223372036854775808]").find("tensor 'a': bytes of its"), 0u);
  for (const char* other : {"[0,4]", "[8,0]", "[0]", "[]", "[0,8,8]", "[0,18446744073709551615]"}) {
    EXPECT_EQ(damaged("[0,8]", other).find("tensor 'a': offsets ["), 0u) << other;
  }
  EXPECT_EQ(damaged("[0,8]", "[0,9]"),
            "tensor 'a': offsets [0, 9]: expected the begin and end of 8 bytes");
  EXPECT_EQ(damaged("[8,12]", "[7,11]"),  // overlaps
            "tensor 'b': data begin at byte 7: expected 8, where the data before end");
  EXPECT_EQ(damaged("[8,12]", "[9,13]"),  // a hole
            "tensor 'b': data begin at byte 9: expected 8, where the data before end");
  EXPECT_EQ(damaged("[0,8]", "[1,9]"),
            "tensor 'a': data begin at byte 1: expected 0, where the data before end");
  EXPECT_EQ(damaged("[8,12]", "[18446744073709551612,18446744073709551615]").find("tensor 'b'"),
            0u);
  EXPECT_EQ(refusal_of(safetensors(good, 11)),
            "tensor 'b': data end at byte 12: expected at most 11, where the file ends");
  EXPECT_EQ(refusal_of(safetensors(good, 13)),
            "13 bytes of data: expected 12, where the last tensor ends");
}

TEST_F(CheckpointTest, IsRefusedIfItIsNoFileOfThatSize) {
  EXPECT_EQ(refusal([&] { Checkpoint{path_}; }),
            "cannot be read: No such file or directory: expected a safetensors file");
  EXPECT_EQ(refusal_of(""), "0 bytes: expected a safetensors file, 8 bytes or more");
  EXPECT_EQ(refusal_of("1234567"), "7 bytes: expected a safetensors file, 8 bytes or more");
  EXPECT_EQ(refusal_of(std::string("\3\0\0\0\0\0\0\0{}", 10)),
            "a header of 3 bytes in 10: expected a safetensors file, with a header of at most 2");
  EXPECT_EQ(refusal_of("12345678").find("a header of 4050765991979987505 bytes in 8: "), 0u);
  write(std::string("\1\xe1\xf5\5\0\0\0\0", 8));  // 100000001
  std::filesystem::resize_file(path_, 200000000);
  EXPECT_EQ(refusal([&] { Checkpoint{path_}; }),
            "a header of 100000001 bytes in 200000000: expected a safetensors file, with a header "
            "of at most 100000000");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(refusal([&] { Checkpoint{path_}; }),
            "cannot be read: no regular file: expected a safetensors file");
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal([&] { Checkpoint{path_}; }),
            "cannot be read: no regular file: expected a safetensors file");
}

TEST_F(CheckpointTest, IsLoadedAsAWholeOrNotAtAll) {
  const std::vector<CheckpointTensor> saved = three();
  save_checkpoint(path_, {}, saved);
  clear(saved);
  auto tensors = saved;
  tensors[2].tensor.columns = 3;
  EXPECT_EQ(refusal_to_load(tensors), "tensor 'tokens': I32 [4]: expected I32 [3]");
  tensors[2].tensor = {saved[2].tensor.span, 4, 1, DType::int32};
  EXPECT_EQ(refusal_to_load(tensors), "tensor 'tokens': I32 [4]: expected I32 [4, 1]");
  tensors[2].tensor = {saved[2].tensor.span, 1, 4, DType::fp32};
  EXPECT_EQ(refusal_to_load(tensors), "tensor 'tokens': I32 [4]: expected F32 [4]");
  tensors[2] = {"targets", saved[2].tensor};
  EXPECT_EQ(refusal_to_load(tensors), "tensor 'targets': missing: expected I32 [4]");
  tensors.pop_back();
  EXPECT_EQ(refusal_to_load(tensors), "tensor 'tokens': I32 [4]: expected no tensor of this name");
  tensors.push_back(tensors[0]);
  EXPECT_THROW(Checkpoint(path_).load(tensors), BadArgument);
  EXPECT_TRUE(is_clear(saved));
  EXPECT_EQ(refusal_to_load(saved), "");
  EXPECT_FALSE(is_clear(saved));
}

TEST_F(CheckpointTest, IsReadAsItWasWhenOpened) {
  const std::vector<CheckpointTensor> saved = three();
  const std::string expected = bytes_of(saved[1]);
  save_checkpoint(path_, {}, saved);
  const Checkpoint checkpoint(path_);
  clear(saved);
  save_checkpoint(path_, {}, saved);
  checkpoint.load(saved);
  EXPECT_EQ(bytes_of(saved[1]), expected);
  const Checkpoint newer(path_);
  std::filesystem::resize_file(path_, 100);
  EXPECT_NE(refusal([&] { newer.load(saved); }).find("it has become shorter"), std::string::npos);
}

TEST_F(CheckpointTest, ThatCannotBeWrittenLeavesTheOldOne) {
  const std::vector<CheckpointTensor> saved = three();
  save_checkpoint(path_, {}, saved);
  const std::string old = text();
  const auto large = tensor("large", 1, 1 << 20, DType::int8);
  const auto reason = [&](const std::string& path) -> std::string {
    try {
      save_checkpoint(path, {}, {large});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  rlimit limit{};  // a full disk: writes fail in the middle
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100000, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string full = reason(path_);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(full, path_ + ": cannot be written: File too large");
  EXPECT_EQ(reason(folder_ + "/none/x"),
            folder_ + "/none/x: cannot be written: No such file or directory");
  EXPECT_EQ(reason(folder_), folder_ + ": cannot be written: Is a directory");
  EXPECT_EQ(reason("/dev/full"), "/dev/full: cannot be written: no regular file");
  EXPECT_EQ(text(), old);
  EXPECT_EQ(files(), 1);
  std::filesystem::create_symlink("loop", folder_ + "/loop");
  EXPECT_EQ(reason(folder_ + "/loop"),
            folder_ + "/loop: cannot be written: Too many levels of symbolic links");
  EXPECT_EQ(files(), 2);
}

TEST_F(CheckpointTest, OfSeveralRanksIsWrittenAsAWholeOrNotAtAll) {
  constexpr std::int64_t kHalf = 30000;
  const CheckpointTensor whole = tensor("whole", 2, kHalf, DType::fp32);
  save_checkpoint(path_, {{"step", "1"}}, {whole});
  const std::string expected = text();
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto save_halves = [&] {
    team.each([&](Rank& rank) {
      CheckpointTensor half{"whole", {{}, 2, kHalf, DType::fp32}};
      half.first = rank.index * kHalf;
      const std::uint64_t bytes = 4 * kHalf;
      const std::uint64_t begin = static_cast<std::uint64_t>(rank.index) * bytes;
      half.part = Tensor{whole.tensor.span.slice(begin, bytes), 1, kHalf, DType::fp32};
      save_checkpoint(rank, path_, {{"step", "1"}}, {half});
    });
  };
  write("old");
  save_halves();
  EXPECT_TRUE(text() == expected);
  rlimit limit{};  // a full disk: the second rank's writes fail
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{5 * kHalf, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(save_halves(), Error);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(text() == expected);
  EXPECT_EQ(files(), 1);
}

TEST_F(CheckpointTest, OfWrongTensorsIsNotWritten) {
  const auto good = tensor("good", 2, 2, DType::fp32);
  const auto refused = [&](const CheckpointTensor& each) {
    EXPECT_THROW(save_checkpoint(path_, {}, {good, each}), BadArgument) << each.name;
  };
  refused(good);
  refused({"__metadata__", good.tensor});
  refused({"tf32", {good.tensor.span, 2, 2, DType::tf32}});
  refused({"fp8", {good.tensor.span, 2, 2, DType::fp8_e4m3}});
  refused({"too small", {good.tensor.span, 2, 3, DType::fp32}});
  refused({"negative", {good.tensor.span, -2, 2, DType::fp32}});
  const auto placed = [&](const MatrixPart& place, std::int64_t first = 0) {
    refused({"placed", {{}, 3, 4, DType::fp32}, good.tensor, first, false, place});
  };
  placed({3, 4, {{0, 1}}, 0, 2});          // fewer rows
  placed({3, 4, {{0, 2}}, 0, 2}, 1);       // fewer elements from there on
  placed({3, 4, {{2, 4}}, 0, 2});          // rows that the tensor does not have
  placed({3, 4, {{1, 2}, {0, 1}}, 0, 2});  // rows in another order
  placed({3, 4, {{0, 2}}, 3, 2});          // columns that it does not have
  placed({3, 5, {{0, 2}}, 0, 2});          // of another tensor
  const auto simulated = open_machine("sim:h200-8");
  const Buffer buffer = simulated->device(0).allocate(std::uint64_t{1} << 36);
  refused({"without contents", {buffer.span(), 2, 2, DType::fp32}});
  EXPECT_EQ(files(), 0);
}

TEST_F(CheckpointTest, KeepsPermissionsAndLinks) {
  const std::string link = folder_ + "/link";
  write("old");
  chmod(path_.c_str(), 0640);
  std::filesystem::create_symlink(path_, link);
  save_checkpoint(link, {}, three());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(refusal_to_load(three()), "");
  struct stat facts {};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

// Whatever the bytes: a checkpoint is loaded, or refused without a tensor written.
TEST_F(CheckpointTest, OfDamagedBytesIsLoadedOrRefused) {
  const std::vector<CheckpointTensor> saved = three();
  save_checkpoint(path_, {{"step", "7"}, {"model", "tiny"}}, saved);
  const std::string good = text();
  int loaded = 0;
  const auto use = [&](const std::string& bytes) {
    write(bytes);
    clear(saved);
    if (refusal_to_load(saved).empty()) {
      ++loaded;
    } else {
      EXPECT_TRUE(is_clear(saved));
    }
  };
  for (std::size_t length = 0; length < good.size(); ++length) use(good.substr(0, length));
  EXPECT_EQ(loaded, 0);
  for (std::size_t i = 0; i < 8 * good.size(); ++i) {
    std::string bytes = good;
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << i % 8));
    use(bytes);
  }
  EXPECT_GE(loaded, 54 * 8);  // the bits of the elements
  for (std::uint64_t round = 0; round < 1000; ++round) {
    std::string bytes = good;
    for (std::uint64_t flip = 0; flip <= random_word(1, round) % 8; ++flip) {
      const std::uint64_t word = random_word(2, 8 * round + flip);
      bytes[word % bytes.size()] = static_cast<char>(word >> 56);
    }
    use(bytes);
  }
}

}  // namespace
}  // namespace duet
