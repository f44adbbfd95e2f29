#include "training/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/names.h"
#include "core/packing.h"
#include "core/part_file.h"
#include "core/plain_text.h"
#include "device/device.h"

namespace duet {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are copied as they are");

constexpr NamedValue<DType> kStoredTypes[] = {{DType::fp32, "F32"},
                                              {DType::bf16, "BF16"},
                                              {DType::fp16, "F16"},
                                              {DType::int32, "I32"},
                                              {DType::int8, "I8"}};
constexpr const char* kMetadataKey = "__metadata__";
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeaderBytes = 100000000;  // as other readers of the format
constexpr std::uint64_t kHeaderMultiple = 8;           // aligns the data
constexpr std::size_t kDeepestInHeader = 3;            // header, tensor, shape
constexpr double kSaveSeconds = 3600;                  // the longest that a rank writes its parts

std::string shown_type(DType dtype, const std::vector<std::uint64_t>& shape) {
  return fmt::format("{} [{}]", name_of(kStoredTypes, dtype), fmt::join(shape, ", "));
}

std::vector<std::uint64_t> stored_shape(const Tensor& tensor) {
  const auto rows = static_cast<std::uint64_t>(tensor.rows);
  const auto columns = static_cast<std::uint64_t>(tensor.columns);
  if (rows == 1) return {columns};
  return {rows, columns};
}

bool is_part(const CheckpointTensor& each) {
  if (!each.part) return true;
  return each.part->dtype == each.tensor.dtype && each.first >= 0 &&
         each.first + each.part->count() <= each.tensor.count();
}

// Throws BadArgument.
void check_tensors(const std::vector<CheckpointTensor>& tensors) {
  const std::vector<DType> types = values_in(kStoredTypes);
  std::set<std::string> names{kMetadataKey};
  for (const CheckpointTensor& each : tensors) {
    const Tensor& here = each.part ? *each.part : each.tensor;
    const Span& span = here.span;
    const char* expected = nullptr;
    if (std::count(types.begin(), types.end(), here.dtype) == 0) expected = "a stored type";
    if (span.bytes < here.bytes()) expected = "memory for all its elements";
    if (span.bytes > 0 && !span.owner->has_contents(span)) expected = "memory with contents";
    if (!is_part(each)) expected = "a part of its elements";
    if (!names.insert(each.name).second) expected = "a name of its own";
    if (expected) throw BadArgument(fmt::format("tensor '{}': expected {}", each.name, expected));
  }
}

// Calls visit(offset in the tensor, span) for each piece of what is here of a tensor.
template <typename Visit>
void for_each_piece(const CheckpointTensor& each, const Visit& visit) {
  const Tensor& here = each.part ? *each.part : each.tensor;
  const std::uint64_t first = static_cast<std::uint64_t>(each.first) * size_of(here.dtype);
  for (std::uint64_t offset = 0; offset < here.bytes(); offset += kCheckpointPiece) {
    visit(first + offset,
          here.span.slice(offset, std::min(kCheckpointPiece, here.bytes() - offset)));
  }
}

std::vector<CheckpointTensor> in_order_of_data(std::vector<CheckpointTensor> tensors) {
  const auto larger = [](const CheckpointTensor& a, const CheckpointTensor& b) {
    return size_of(a.tensor.dtype) > size_of(b.tensor.dtype);
  };
  std::stable_sort(tensors.begin(), tensors.end(), larger);
  return tensors;
}

// Of tensors in the order of their data. Throws BadArgument.
std::string header_text(const std::map<std::string, std::string>& metadata,
                        const std::vector<CheckpointTensor>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t begin = 0;
  for (const CheckpointTensor& each : tensors) {
    const std::uint64_t end = begin + each.tensor.bytes();
    header[each.name] = {{"dtype", name_of(kStoredTypes, each.tensor.dtype)},
                         {"shape", stored_shape(each.tensor)},
                         {"data_offsets", {begin, end}}};
    begin = end;
  }
  using Errors = nlohmann::ordered_json::error_handler_t;
  std::string text = header.dump(-1, ' ', false, Errors::replace);  // what is not UTF-8
  text.resize((text.size() + kHeaderMultiple - 1) / kHeaderMultiple * kHeaderMultiple, ' ');
  if (text.size() <= kMostHeaderBytes) return text;
  throw BadArgument(fmt::format("a checkpoint's names and metadata: {} bytes: expected at most {}",
                                text.size(), kMostHeaderBytes));
}

// The file that is replaced: `path`, or where its link leads. Throws Error.
std::string replaced_file(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, failed);
  if (failed) throw Error(fmt::format("{}: cannot be written: {}", path, failed.message()));
  if (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target)) {
    throw Error(fmt::format("{}: cannot be written: no regular file", path));
  }
  return target.string();
}

// `place` is the file, or the file and one of its tensors.
[[noreturn]] void refuse_checkpoint(const std::string& place, const std::string& found,
                                    const std::string& expected) {
  throw UsageError(fmt::format("{}: {}: expected {}", place, found, expected));
}

std::string place_of(const std::string& file, const std::string& tensor) {
  return fmt::format("{}: tensor '{}'", file, one_line(tensor));
}

// Refuses names that occur twice, of which json::parse() would drop one, and deep nesting. (The
// callback of json::parse() could do the same, in time that is quadratic in the tensors.)
class HeaderGuard : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderGuard(std::string file) : file_(std::move(file)) {}

  bool key(std::string& name) override {
    if (names_.back().insert(name).second) return true;
    refuse_checkpoint(place_of(file_, name), "twice", "each name once");
  }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  bool enter() {
    if (names_.size() == kDeepestInHeader) refuse_checkpoint(file_, "nests deeply", "tensors");
    names_.emplace_back();
    return true;
  }
  bool leave() {
    names_.pop_back();
    return true;
  }

  std::string file_;
  std::vector<std::set<std::string>> names_;  // of the objects that are open
};

nlohmann::json parse_checkpoint_header(const std::string& file, const std::string& text) {
  HeaderGuard guard(file);
  // The parser would skip a byte order mark, and take a NUL for the end.
  const bool plain = !text.empty() && text[0] == '{' && text.find('\0') == std::string::npos;
  if (!plain || !nlohmann::json::sax_parse(text, &guard)) {
    refuse_checkpoint(file, "header is not JSON", "a safetensors file");
  }
  return nlohmann::json::parse(text);
}

std::map<std::string, std::string> metadata_of(const std::string& file,
                                               const nlohmann::json& header) {
  if (!header.contains(kMetadataKey)) return {};
  try {
    return header[kMetadataKey].get<std::map<std::string, std::string>>();
  } catch (const nlohmann::json::type_error&) {
    refuse_checkpoint(file, "metadata of another type", "texts by name");
  }
}

// The member `key` of an object.
std::vector<std::uint64_t> counts_of(const std::string& place, const nlohmann::json& tensor,
                                     const char* key) {
  const auto is_count = [](const nlohmann::json& value) { return value.is_number_unsigned(); };
  const auto found = tensor.find(key);
  if (found == tensor.end() || !found->is_array() ||
      !std::all_of(found->begin(), found->end(), is_count)) {
    refuse_checkpoint(place, fmt::format("\"{}\" missing or wrong", key), "a list of counts");
  }
  return found->get<std::vector<std::uint64_t>>();
}

CheckpointEntry entry_of(const std::string& place, const nlohmann::json& tensor) {
  if (!tensor.is_object()) refuse_checkpoint(place, "of another type", "an object");
  CheckpointEntry entry;
  entry.shape = counts_of(place, tensor, "shape");
  const nlohmann::json type = tensor.value("dtype", nlohmann::json());
  if (!type.is_string()) refuse_checkpoint(place, "\"dtype\" missing or wrong", "a text");
  const std::string word = one_line(type.get<std::string>());
  entry.dtype = parse_name(kStoredTypes, place + ": unknown dtype", word);
  std::uint64_t bytes = size_of(entry.dtype);
  for (const std::uint64_t side : entry.shape) {
    if (__builtin_mul_overflow(bytes, side, &bytes)) {
      refuse_checkpoint(place, "bytes of its shape overflow", "bytes that 64 bits can count");
    }
  }
  const std::vector<std::uint64_t> offsets = counts_of(place, tensor, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != bytes) {
    refuse_checkpoint(place, fmt::format("offsets [{}]", fmt::join(offsets, ", ")),
                      fmt::format("the begin and end of {} bytes", bytes));
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

// Tensors must fill the data; the header may have them in any order.
void require_contiguous(const std::string& file,
                        const std::map<std::string, CheckpointEntry>& entries,
                        std::uint64_t data_bytes) {
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  std::vector<std::pair<Range, std::string>> ranges;
  for (const auto& [name, entry] : entries) ranges.push_back({{entry.begin, entry.end}, name});
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t last = 0;
  for (const auto& [range, name] : ranges) {
    const auto& [begin, end] = range;
    if (begin != last) {
      refuse_checkpoint(place_of(file, name), fmt::format("data begin at byte {}", begin),
                        fmt::format("{}, where the data before end", last));
    }
    if (end > data_bytes) {
      refuse_checkpoint(place_of(file, name), fmt::format("data end at byte {}", end),
                        fmt::format("at most {}, where the file ends", data_bytes));
    }
    last = end;
  }
  if (last == data_bytes) return;
  refuse_checkpoint(file, fmt::format("{} bytes of data", data_bytes),
                    fmt::format("{}, where the last tensor ends", last));
}

std::FILE* open_checkpoint(const std::string& path) {
  // O_NONBLOCK: a pipe that nobody writes is refused like other files that are not regular.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts {};
  if (file < 0 || ::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    const std::string reason = file < 0 ? std::strerror(errno) : "no regular file";
    if (file >= 0) ::close(file);
    refuse_checkpoint(path, "cannot be read: " + reason, "a safetensors file");
  }
  return ::fdopen(file, "rb");
}

// A file that is being written beside the one that it will replace.
struct CheckpointPart {
  std::string path;
  std::uint64_t data_begin = 0;  // bytes, from the beginning of the file
};

[[noreturn]] void fail_to_write(const std::string& path) {
  throw Error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

// The file with its header, before tensors are written and it is put in place.
class NewCheckpoint {
 public:
  NewCheckpoint(const std::string& path, const std::map<std::string, std::string>& metadata,
                const std::vector<CheckpointTensor>& tensors)
      : path_(path), file_(replaced_file(path)) {
    const std::string header = header_text(metadata, in_order_of_data(tensors));
    const std::uint64_t length = header.size();
    require(file_.write({reinterpret_cast<const char*>(&length), kLengthBytes}) &&
            file_.write(header));
    part_ = {file_.path(), kLengthBytes + length};
  }

  const CheckpointPart& part() const { return part_; }
  void put_in_place() { require(file_.flush() && file_.put_in_place()); }

 private:
  void require(bool done) const {
    if (!done) fail_to_write(path_);
  }

  std::string path_;
  PartFile file_;
  CheckpointPart part_;
};

// A file that is opened for writing at any place, and closed.
class WrittenFile {
 public:
  WrittenFile(std::string path, const std::string& part)
      : path_(std::move(path)), file_(::open(part.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)) {
    if (file_ < 0) fail_to_write(path_);
  }
  ~WrittenFile() { ::close(file_); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  void write(std::uint64_t offset, const std::byte* from, std::uint64_t bytes) const {
    while (bytes > 0) {
      const ssize_t written = ::pwrite(file_, from, bytes, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_to_write(path_);
      from += written;
      offset += static_cast<std::uint64_t>(written);
      bytes -= static_cast<std::uint64_t>(written);
    }
  }
  void flush() const {
    if (::fsync(file_) != 0) fail_to_write(path_);
  }

 private:
  std::string path_;  // for messages
  int file_;
};

// Writes what is here of all tensors. `path`: for messages.
void write_tensors(const std::string& path, const CheckpointPart& part,
                   const std::vector<CheckpointTensor>& tensors) {
  const WrittenFile file(path, part.path);
  std::uint64_t begin = part.data_begin;
  std::vector<std::byte> piece;
  for (const CheckpointTensor& each : in_order_of_data(tensors)) {
    for_each_piece(each, [&](std::uint64_t offset, const Span& span) {
      piece.resize(span.bytes);
      span.owner->read(span, piece.data());
      file.write(begin + offset, piece.data(), span.bytes);
    });
    begin += each.tensor.bytes();
  }
  file.flush();
}

}  // namespace

void save_checkpoint(const std::string& path, const std::map<std::string, std::string>& metadata,
                     const std::vector<CheckpointTensor>& tensors) {
  check_tensors(tensors);
  NewCheckpoint file(path, metadata, tensors);
  write_tensors(path, file.part(), tensors);
  file.put_in_place();
}

void save_checkpoint(Rank& rank, const std::string& path,
                     const std::map<std::string, std::string>& metadata,
                     const std::vector<CheckpointTensor>& tensors) {
  std::optional<NewCheckpoint> file;
  const auto together = [&](const std::string& what, const std::function<void()>& step) {
    rank.team.all_or_none(rank, "all ranks " + what, step, kSaveSeconds);
  };
  together("to begin a checkpoint", [&] {
    check_tensors(tensors);
    if (rank.index == 0) file.emplace(path, metadata, tensors);
  });
  const std::string mine =
      file ? pack({file->part().path, std::to_string(file->part().data_begin)}) : "";
  const auto all = rank.team.gather(rank, mine, "rank 0 to begin a checkpoint", kSaveSeconds);
  const std::vector<std::string> fields = unpack(all->front());
  const CheckpointPart part{fields.at(0), std::stoull(fields.at(1))};
  together("to write a checkpoint", [&] { write_tensors(path, part, tensors); });
  together("to end a checkpoint", [&] {
    if (file) file->put_in_place();
  });
}

Checkpoint::Checkpoint(std::string path)
    : path_(std::move(path)), file_(open_checkpoint(path_), &std::fclose) {
  const auto size = static_cast<std::uint64_t>(::lseek(::fileno(file_.get()), 0, SEEK_END));
  if (size < kLengthBytes) {
    refuse_checkpoint(path_, fmt::format("{} bytes", size), "a safetensors file, 8 bytes or more");
  }
  std::uint64_t length = 0;
  read(0, &length, kLengthBytes);
  const std::uint64_t most = std::min(kMostHeaderBytes, size - kLengthBytes);
  if (length > most) {
    refuse_checkpoint(path_, fmt::format("a header of {} bytes in {}", length, size),
                      fmt::format("a safetensors file, with a header of at most {}", most));
  }
  std::string text(length, ' ');
  read(kLengthBytes, text.data(), length);
  data_begin_ = kLengthBytes + length;
  const nlohmann::json header = parse_checkpoint_header(path_, text);
  metadata_ = metadata_of(path_, header);
  for (const auto& [name, tensor] : header.items()) {
    if (name != kMetadataKey) entries_[name] = entry_of(place_of(path_, name), tensor);
  }
  require_contiguous(path_, entries_, size - data_begin_);
}

void Checkpoint::require_same(const std::vector<CheckpointTensor>& tensors) const {
  std::set<std::string> names;
  for (const CheckpointTensor& each : tensors) {
    const std::string& name = each.name;
    const Tensor& tensor = each.tensor;
    names.insert(name);
    const std::string expected = shown_type(tensor.dtype, stored_shape(tensor));
    const auto found = entries_.find(name);
    if (found == entries_.end()) refuse_checkpoint(place_of(path_, name), "missing", expected);
    const auto& [dtype, shape, begin, end] = found->second;
    if (dtype != tensor.dtype || shape != stored_shape(tensor)) {
      refuse_checkpoint(place_of(path_, name), shown_type(dtype, shape), expected);
    }
  }
  for (const auto& [name, entry] : entries_) {
    if (names.count(name) > 0) continue;
    refuse_checkpoint(place_of(path_, name), shown_type(entry.dtype, entry.shape),
                      "no tensor of this name");
  }
}

void Checkpoint::load(const std::vector<CheckpointTensor>& tensors) const {
  check_tensors(tensors);
  require_same(tensors);
  std::vector<std::byte> piece;
  for (const CheckpointTensor& each : tensors) {
    const std::uint64_t begin = data_begin_ + entries_.at(each.name).begin;
    for_each_piece(each, [&](std::uint64_t offset, const Span& span) {
      piece.resize(span.bytes);
      read(begin + offset, piece.data(), span.bytes);
      span.owner->write(span, piece.data());
    });
  }
}

void Checkpoint::read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(::fileno(file_.get()), at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const std::string reason = got < 0 ? std::strerror(errno) : "it has become shorter";
      refuse_checkpoint(path_, "cannot be read: " + reason, fmt::format("{} more bytes", bytes));
    }
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
}

}  // namespace duet
