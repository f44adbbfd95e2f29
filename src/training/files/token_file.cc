#include "training/files/token_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/random.h"

namespace duet {
namespace {

constexpr std::int64_t kHeaderBytes = 256 * 4;
// No UTF-8 text begins with the bytes of a magic number of llm.c's.
struct TokenKind {
  std::int32_t magic, version;
  std::int64_t token_bytes;
};
constexpr TokenKind kTokenKinds[] = {{20240520, 1, 2}, {20240801, 7, 4}};
constexpr std::int32_t kQuestionsMagic = 20240522;  // its files of multiple-choice questions
constexpr std::int64_t kByteTokens = 256;
constexpr std::int64_t kCheckedAtOnce = 1 << 20;  // tokens

constexpr const char* kExpectedFile = "expected a file of text, or of tokens as llm.c's";

[[noreturn]] void cannot_be_read(const std::string& path) {
  throw UsageError(
      fmt::format("{}: cannot be read: {}; {}", path, std::strerror(errno), kExpectedFile));
}

int open_for_reading(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe waits for its writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) cannot_be_read(path);
  return descriptor;
}

std::int32_t int32_at(const unsigned char* bytes) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | bytes[i];
  return static_cast<std::int32_t>(value);
}

void require_fit(std::int64_t tokens, std::int64_t batch, std::int64_t sequence) {
  if (batch < 1 || sequence < 1 || sequence >= tokens) {
    throw BadArgument(fmt::format("a batch of {} sequences of {} tokens from a part of {} tokens",
                                  batch, sequence, tokens));
  }
}

}  // namespace

TokenFile::TokenFile(const std::string& path, std::int64_t vocabulary)
    : TokenFile(path, vocabulary, open_for_reading(path)) {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) cannot_be_read(path_);
  if (S_ISDIR(facts.st_mode)) {
    throw UsageError(fmt::format("{}: is a folder: {}", path_, kExpectedFile));
  }
  if (!S_ISREG(facts.st_mode)) {
    throw UsageError(fmt::format("{}: is a pipe or a device, which cannot be read at any place: {}",
                                 path_, kExpectedFile));
  }
  read_kind(facts.st_size);
  if (count_ == 0) throw UsageError(fmt::format("{}: is empty: {}", path_, kExpectedFile));
  if (token_bytes_ == 1) return;
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(std::min(count_, kCheckedAtOnce)));
  for (std::int64_t at = 0; at < count_; at += kCheckedAtOnce) {
    read(at, std::min(count_ - at, kCheckedAtOnce), tokens.data());
  }
}

// Once this constructor has returned, the destructor closes the file even if the other one throws.
TokenFile::TokenFile(const std::string& path, std::int64_t vocabulary, int descriptor)
    : path_(path), vocabulary_(vocabulary), descriptor_(descriptor) {}

TokenFile::~TokenFile() { ::close(descriptor_); }

void TokenFile::read_kind(std::int64_t file_bytes) {
  unsigned char begin[4] = {};
  const bool has_magic = read_bytes(0, sizeof begin, begin) == sizeof begin;
  const std::int32_t magic = has_magic ? int32_at(begin) : 0;
  bool has_header = magic == kQuestionsMagic;
  for (const TokenKind& kind : kTokenKinds) has_header = has_header || magic == kind.magic;
  if (has_header) return read_header(file_bytes);
  if (vocabulary_ < kByteTokens) {
    throw UsageError(fmt::format(
        "{}: a vocabulary of {} for a file whose tokens are bytes: expected at least {}", path_,
        vocabulary_, kByteTokens));
  }
  count_ = file_bytes;
}

void TokenFile::read_header(std::int64_t file_bytes) {
  unsigned char header[kHeaderBytes];
  if (read_bytes(0, sizeof header, header) < sizeof header) {
    throw UsageError(fmt::format("{}: ends after {} bytes of llm.c's header: expected {}", path_,
                                 file_bytes, kHeaderBytes));
  }
  const std::int32_t magic = int32_at(header), version = int32_at(header + 4);
  const std::int64_t count = int32_at(header + 8), behind = file_bytes - kHeaderBytes;
  for (const TokenKind& kind : kTokenKinds) {
    if (magic == kind.magic && version == kind.version) token_bytes_ = kind.token_bytes;
  }
  if (token_bytes_ == 1) {
    throw UsageError(fmt::format(
        "{}: has llm.c's header with magic {}, version {}: expected magic {}, version {} (16-bit "
        "tokens), or magic {}, version {} (32-bit tokens)",
        path_, magic, version, kTokenKinds[0].magic, kTokenKinds[0].version, kTokenKinds[1].magic,
        kTokenKinds[1].version));
  }
  if (count < 0 || count * token_bytes_ != behind) {
    throw UsageError(fmt::format(
        "{}: states {} tokens in its header, which {} bytes follow: expected {} bytes a token",
        path_, count, behind, token_bytes_));
  }
  header_bytes_ = kHeaderBytes;
  count_ = count;
}

// Returns how many bytes there were until the end of the file, at most `count`.
std::size_t TokenFile::read_bytes(std::int64_t at, std::size_t count, unsigned char* bytes) const {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got =
        ::pread(descriptor_, bytes + done, count - done, at + static_cast<std::int64_t>(done));
    if (got == 0) break;
    if (got < 0 && errno != EINTR) cannot_be_read(path_);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  return done;
}

void TokenFile::read(std::int64_t first, std::int64_t count, std::int32_t* tokens) const {
  if (first < 0 || count < 0 || first > count_ - count) {
    throw BadArgument(fmt::format("{}: {} tokens from {} on of {}", path_, count, first, count_));
  }
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count * token_bytes_));
  if (read_bytes(header_bytes_ + first * token_bytes_, bytes.size(), bytes.data()) < bytes.size()) {
    throw UsageError(
        fmt::format("{}: has become shorter while it was read: expected {} tokens", path_, count_));
  }
  if (token_bytes_ == 1) {
    std::copy(bytes.begin(), bytes.end(), tokens);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t token = 0;
    for (std::int64_t byte = token_bytes_; byte-- > 0;) {
      token = token << 8 | bytes[i * token_bytes_ + byte];
    }
    if (token >= static_cast<std::uint64_t>(vocabulary_)) {
      throw UsageError(fmt::format("{}: token {} at position {}: expected below the vocabulary, {}",
                                   path_, token, first + i, vocabulary_));
    }
    tokens[i] = static_cast<std::int32_t>(token);
  }
}

std::uint64_t TokenFile::digest() const {
  constexpr std::int64_t kPieces = 256, kPieceTokens = 4096;
  std::uint64_t digest = static_cast<std::uint64_t>(count_);
  std::vector<std::int32_t> tokens(kPieceTokens);
  for (std::int64_t at = 0; at < count_; at += std::max(count_ / kPieces, kPieceTokens)) {
    const std::int64_t count = std::min(count_ - at, kPieceTokens);
    read(at, count, tokens.data());
    for (std::int64_t i = 0; i < count; ++i) {
      digest = random_word(digest, static_cast<std::uint64_t>(tokens[static_cast<std::size_t>(i)]));
    }
  }
  return digest;
}

TokenSplit::TokenSplit(const TokenFile& file, double evaluation_share, std::int64_t sequence)
    : file_(file), training_tokens_(file.count()) {
  if (sequence < 1) throw BadArgument(fmt::format("sequences of {} tokens", sequence));
  if (!(evaluation_share >= 0 && evaluation_share < 1)) {
    throw UsageError(
        fmt::format("an evaluation share of {}: expected from 0 to below 1", evaluation_share));
  }
  const std::int64_t count = file.count();
  if (evaluation_share > 0) {
    const std::int64_t share = std::llround(evaluation_share * static_cast<double>(count));
    const std::int64_t evaluation = std::min(count, std::max(share, sequence + 1));
    training_tokens_ -= evaluation;
  }
  if (training_tokens_ > sequence) return;
  const std::string parts = evaluation_share > 0
                                ? fmt::format(", {} for training and {} for evaluation",
                                              training_tokens_, evaluation_tokens())
                                : "";
  throw UsageError(fmt::format("{}: {} tokens{}: expected at least {}{} (a sequence of {} and one)",
                               file.path(), count, parts, sequence + 1,
                               evaluation_share > 0 ? " in each part" : "", sequence));
}

TokenBatch TokenSplit::training_batch(std::uint64_t seed, std::int64_t step, std::int64_t batch,
                                      std::int64_t sequence, std::int64_t first) const {
  require_fit(training_tokens_, batch, sequence);
  const std::uint64_t places = static_cast<std::uint64_t>(training_tokens_ - sequence);
  const std::uint64_t step_seed = random_word(seed, static_cast<std::uint64_t>(step));
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < batch; ++i) {
    const std::uint64_t word = random_word(step_seed, static_cast<std::uint64_t>(first + i));
    // The remainder favours the first places by less than places / 2^64 of their chance.
    starts.push_back(static_cast<std::int64_t>(word % places));
  }
  return batch_from(starts, sequence);
}

TokenBatch TokenSplit::evaluation_batch(std::int64_t index, std::int64_t batch,
                                        std::int64_t sequence, std::int64_t first,
                                        std::int64_t count) const {
  if (index < 0 || index >= evaluation_batches(batch, sequence)) {
    throw BadArgument(
        fmt::format("evaluation batch {} of {}", index, evaluation_batches(batch, sequence)));
  }
  if (first < 0 || count < 0 || first > batch - count) {
    throw BadArgument(fmt::format("{} sequences from {} on of {}", count, first, batch));
  }
  const std::int64_t sequences = evaluation_sequences(batch, sequence);
  std::vector<std::int64_t> starts;
  for (std::int64_t i = first; i < first + count; ++i) {
    starts.push_back(training_tokens_ + (index * batch + i) % sequences * sequence);
  }
  return batch_from(starts, sequence);
}

std::int64_t TokenSplit::evaluation_batches(std::int64_t batch, std::int64_t sequence) const {
  if (evaluation_tokens() == 0) return 0;
  return std::max<std::int64_t>(1, evaluation_sequences(batch, sequence) / batch);
}

std::int64_t TokenSplit::evaluation_sequences(std::int64_t batch, std::int64_t sequence) const {
  require_fit(evaluation_tokens(), batch, sequence);
  return (evaluation_tokens() - 1) / sequence;
}

TokenBatch TokenSplit::batch_from(const std::vector<std::int64_t>& starts,
                                  std::int64_t sequence) const {
  TokenBatch result;
  std::vector<std::int32_t> read(static_cast<std::size_t>(sequence) + 1);
  for (const std::int64_t start : starts) {
    file_.read(start, sequence + 1, read.data());
    result.tokens.insert(result.tokens.end(), read.begin(), read.end() - 1);
    result.targets.insert(result.targets.end(), read.begin() + 1, read.end());
  }
  return result;
}

}  // namespace duet
