#include "training/files/checkpoint.h"

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
#include <list>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/packing.h"
#include "core/part_file.h"
#include "device/device.h"
#include "training/files/guarded_json.h"

namespace duet {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are copied as they are");

constexpr std::uint64_t kLengthBytes = 8;
constexpr const char* kTensor = "tensor";  // in messages

std::vector<std::uint64_t> stored_shape(const CheckpointTensor& each) {
  const auto rows = static_cast<std::uint64_t>(each.tensor.rows);
  const auto columns = static_cast<std::uint64_t>(each.tensor.columns);
  if (rows == 1 && !each.is_matrix) return {columns};
  return {rows, columns};
}

std::string shown_type(const CheckpointTensor& each) {
  return duet::shown_type(each.tensor.dtype, stored_shape(each));
}

bool is_placed(const CheckpointTensor& each) {
  const Tensor& whole = each.tensor;
  std::int64_t rows = 0, last = 0;
  for (const RowRange& range : each.place.ranges) {
    if (range.first < last || range.last < range.first) return false;
    rows += range.count();
    last = range.last;
  }
  return each.place.rows == whole.rows && each.place.columns == whole.columns &&
         last <= whole.rows && each.place.first_column >= 0 && each.place.own_columns > 0 &&
         each.place.first_column + each.place.own_columns <= whole.columns &&
         each.first + each.part->count() <= rows * each.place.own_columns;
}

bool is_part(const CheckpointTensor& each) {
  if (!each.part) return true;
  if (each.part->dtype != each.tensor.dtype || each.first < 0) return false;
  return each.place.is_whole() ? each.first + each.part->count() <= each.tensor.count()
                               : is_placed(each);
}

// Throws BadArgument.
void check_tensors(const std::vector<CheckpointTensor>& tensors) {
  std::set<std::string> names{"__metadata__"};
  for (const CheckpointTensor& each : tensors) {
    check_tensor(each);
    if (names.insert(each.name).second) continue;
    throw BadArgument(fmt::format("tensor '{}': expected a name of its own", each.name));
  }
}

// Elements that follow each other in a tensor and in memory.
struct Run {
  std::uint64_t first, count;  // of the tensor's elements
};
// Runs that follow each other in memory.
struct Piece {
  std::vector<Run> runs;
  Span span;
};

// Of a part that is placed: of each of its rows or, of whole ones, of each range of them.
std::vector<Run> runs_of(const CheckpointTensor& each) {
  const MatrixPart& place = each.place;
  const Tensor& here = each.part ? *each.part : each.tensor;
  if (place.is_whole()) {
    return {{static_cast<std::uint64_t>(each.first), static_cast<std::uint64_t>(here.count())}};
  }
  std::vector<Run> runs;
  const bool whole_rows = place.own_columns == place.columns;
  const std::int64_t end = each.first + here.count();
  std::int64_t before = 0;  // elements of the place
  for (const RowRange& range : place.ranges) {
    const std::int64_t rows = whole_rows ? range.count() : 1;
    for (std::int64_t row = range.first; row < range.last; row += rows) {
      const std::int64_t first = std::max(before, each.first);
      const std::int64_t last = std::min(before + rows * place.own_columns, end);
      const std::int64_t number = row * place.columns + place.first_column + first - before;
      if (first < last) {
        runs.push_back(
            {static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(last - first)});
      }
      before += rows * place.own_columns;
    }
  }
  return runs;
}

// Calls visit(piece) for each piece of what is here of a tensor.
template <typename Visit>
void for_each_piece(const CheckpointTensor& each, const Visit& visit) {
  const Tensor& here = each.part ? *each.part : each.tensor;
  const std::uint64_t size = size_of(here.dtype), most = kCheckpointPiece / size;
  std::uint64_t begun = 0, count = 0;  // elements: before the piece, of it
  std::vector<Run> runs;
  const auto end_piece = [&] {
    if (count > 0) visit(Piece{runs, here.span.slice(begun * size, count * size)});
    begun += count;
    count = 0;
    runs.clear();
  };
  for (Run left : runs_of(each)) {
    while (left.count > 0) {
      const Run next{left.first, std::min(left.count, most - count)};
      runs.push_back(next);
      count += next.count;
      left = {left.first + next.count, left.count - next.count};
      if (count == most) end_piece();
    }
  }
  end_piece();
}

std::vector<CheckpointTensor> in_order_of_data(std::vector<CheckpointTensor> tensors) {
  const auto larger = [](const CheckpointTensor& a, const CheckpointTensor& b) {
    return size_of(a.tensor.dtype) > size_of(b.tensor.dtype);
  };
  std::stable_sort(tensors.begin(), tensors.end(), larger);
  return tensors;
}

// The file's bytes before its data.
std::string beginning_of(const CheckpointFile& file) {
  std::vector<std::pair<std::string, CheckpointEntry>> entries;
  std::uint64_t begin = 0;
  for (const CheckpointTensor& each : in_order_of_data(file.tensors)) {
    const std::uint64_t end = begin + each.tensor.bytes();
    entries.push_back({each.name, {each.tensor.dtype, stored_shape(each), begin, end}});
    begin = end;
  }
  const std::string header = safetensors_header_text(file.metadata, entries);
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + header;
}

// Where the new file for `path` is put. Throws Error.
std::string target_of(const std::string& path) {
  const ReplacedFile replaced = replaced_file(path);
  if (replaced.reason.empty()) return replaced.target;
  throw Error(fmt::format("{}: cannot be written: {}", path, replaced.reason));
}

std::FILE* open_checkpoint(const std::string& path) {
  // O_NONBLOCK: a pipe that nobody writes is refused like other files that are not regular.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts {};
  if (file < 0 || ::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    const std::string reason = file < 0 ? std::strerror(errno) : "no regular file";
    if (file >= 0) ::close(file);
    refuse(path, "cannot be read: " + reason, "a safetensors file");
  }
  return ::fdopen(file, "rb");
}

[[noreturn]] void fail_to_write(const std::string& path) {
  throw Error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

// Files with what stands before their tensors, beside those that they will replace.
class NewFiles {
 public:
  explicit NewFiles(const CheckpointFiles& files)
      : removed_before_(files.removed_before), removed_after_(files.removed_after) {
    for (const CheckpointFile& each : files.checkpoints) add(each.path, beginning_of(each));
    for (const CheckpointText& each : files.texts) add(each.path, each.text);
  }

  // Of each file, for write_tensors(): its present path, and where its data begin.
  std::string places() const {
    std::vector<std::string> fields;
    for (const NewFile& each : files_) {
      fields.push_back(each.file.path());
      fields.push_back(std::to_string(each.begun));
    }
    return pack(fields);
  }

  void put_in_place() {
    for (NewFile& each : files_) require(each, each.file.flush());
    for (const std::string& path : removed_before_) remove_file(path);
    for (NewFile& each : files_) require(each, each.file.put_in_place());
    for (const std::string& path : removed_after_) remove_file(path);
  }

 private:
  struct NewFile {
    NewFile(const std::string& path_, std::uint64_t begun_)
        : path(path_), file(target_of(path_)), begun(begun_) {}
    std::string path;
    PartFile file;
    std::uint64_t begun;  // bytes
  };

  void add(const std::string& path, const std::string& beginning) {
    NewFile& added = files_.emplace_back(path, beginning.size());
    require(added, added.file.write(beginning));
  }
  static void require(const NewFile& file, bool done) {
    if (!done) fail_to_write(file.path);
  }
  static void remove_file(const std::string& path) {
    std::error_code failed;
    std::filesystem::remove(path, failed);
    if (failed) throw Error(fmt::format("{}: cannot be removed: {}", path, failed.message()));
  }

  std::list<NewFile> files_;
  std::vector<std::string> removed_before_, removed_after_;
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

// Writes what is here of a file's tensors into the file at `part`.
void write_tensors(const CheckpointFile& checkpoint, const std::string& part,
                   std::uint64_t data_begin) {
  const WrittenFile file(checkpoint.path, part);
  std::uint64_t begin = data_begin;
  std::vector<std::byte> bytes;
  for (const CheckpointTensor& each : in_order_of_data(checkpoint.tensors)) {
    for_each_piece(each, [&](const Piece& piece) {
      bytes.resize(piece.span.bytes);
      piece.span.owner->read(piece.span, bytes.data());
      const std::byte* from = bytes.data();
      for (const Run& run : piece.runs) {
        const std::uint64_t size = size_of(each.tensor.dtype);
        file.write(begin + run.first * size, from, run.count * size);
        from += run.count * size;
      }
    });
    begin += each.tensor.bytes();
  }
  file.flush();
}

// `places`: of NewFiles.
void write_tensors(const CheckpointFiles& files, const std::string& places) {
  const std::vector<std::string> fields = unpack(places);
  for (std::size_t i = 0; i < files.checkpoints.size(); ++i) {
    write_tensors(files.checkpoints[i], fields.at(2 * i), std::stoull(fields.at(2 * i + 1)));
  }
}

bool is_convertible(DType dtype) {
  return dtype == DType::fp32 || dtype == DType::bf16 || dtype == DType::fp16;
}

}  // namespace

void check_tensor(const CheckpointTensor& tensor) {
  const Tensor& here = tensor.part ? *tensor.part : tensor.tensor;
  const Span& span = here.span;
  const char* expected = nullptr;
  if (!is_stored(here.dtype)) expected = "a stored type";
  if (span.bytes < here.bytes()) expected = "memory for all its elements";
  if (span.bytes > 0 && !span.owner->has_contents(span)) expected = "memory with contents";
  if (!is_part(tensor)) expected = "a part of its elements";
  if (expected) throw BadArgument(fmt::format("tensor '{}': expected {}", tensor.name, expected));
}

void save_checkpoint(const std::string& path, const std::map<std::string, std::string>& metadata,
                     const std::vector<CheckpointTensor>& tensors) {
  save_checkpoints({{{path, metadata, tensors}}, {}, {}, {}});
}

void save_checkpoint(Rank& rank, const std::string& path,
                     const std::map<std::string, std::string>& metadata,
                     const std::vector<CheckpointTensor>& tensors) {
  save_checkpoints(rank, {{{path, metadata, tensors}}, {}, {}, {}});
}

void save_checkpoints(const CheckpointFiles& files) {
  for (const CheckpointFile& each : files.checkpoints) check_tensors(each.tensors);
  NewFiles begun(files);
  write_tensors(files, begun.places());
  begun.put_in_place();
}

void save_checkpoints(Rank& rank, const CheckpointFiles& files) {
  std::optional<NewFiles> begun;
  const auto together = [&](const std::string& what, const std::function<void()>& step) {
    rank.team.all_or_none(rank, "all ranks " + what, step, kSaveSeconds);
  };
  together("to begin a checkpoint", [&] {
    for (const CheckpointFile& each : files.checkpoints) check_tensors(each.tensors);
    if (rank.index == 0) begun.emplace(files);
  });
  const std::string mine = begun ? begun->places() : "";
  const auto all = rank.team.gather(rank, mine, "rank 0 to begin a checkpoint", kSaveSeconds);
  together("to write a checkpoint", [&] { write_tensors(files, all->front()); });
  together("to end a checkpoint", [&] {
    if (begun) begun->put_in_place();
  });
}

Checkpoint::Checkpoint(std::string path)
    : path_(std::move(path)), file_(open_checkpoint(path_), &std::fclose) {
  const auto size = static_cast<std::uint64_t>(::lseek(::fileno(file_.get()), 0, SEEK_END));
  if (size < kLengthBytes) {
    refuse(path_, fmt::format("{} bytes", size), "a safetensors file, 8 bytes or more");
  }
  std::uint64_t length = 0;
  read(0, &length, kLengthBytes);
  const std::uint64_t most = std::min(kMostHeaderBytes, size - kLengthBytes);
  if (length > most) {
    refuse(path_, fmt::format("a header of {} bytes in {}", length, size),
           fmt::format("a safetensors file, with a header of at most {}", most));
  }
  std::string text(length, ' ');
  read(kLengthBytes, text.data(), length);
  data_begin_ = kLengthBytes + length;
  header_ = parse_safetensors_header(path_, text, size - data_begin_);
}

// `expected`: its type and shape, for messages.
const CheckpointEntry& Checkpoint::entry_of_shape(const CheckpointTensor& tensor,
                                                  const std::string& expected) const {
  const std::string place = place_of(path_, kTensor, tensor.name);
  const auto found = entries().find(tensor.name);
  if (found == entries().end()) refuse(place, "missing", expected);
  const CheckpointEntry& entry = found->second;
  if (entry.shape != stored_shape(tensor)) {
    refuse(place, shown_type(entry.dtype, entry.shape), expected);
  }
  return entry;
}

void Checkpoint::require_same(const std::vector<CheckpointTensor>& tensors) const {
  std::set<std::string> names;
  for (const CheckpointTensor& each : tensors) {
    names.insert(each.name);
    const CheckpointEntry& entry = entry_of_shape(each, shown_type(each));
    if (entry.dtype == each.tensor.dtype) continue;
    refuse(place_of(path_, kTensor, each.name), shown_type(entry.dtype, entry.shape),
           shown_type(each));
  }
  for (const auto& [name, entry] : entries()) {
    if (names.count(name) > 0) continue;
    refuse(place_of(path_, kTensor, name), shown_type(entry.dtype, entry.shape),
           "no tensor of this name");
  }
}

void Checkpoint::load(const std::vector<CheckpointTensor>& tensors) const {
  check_tensors(tensors);
  require_same(tensors);
  for (const CheckpointTensor& each : tensors) convert(each);
}

void Checkpoint::require_convertible(const CheckpointTensor& tensor) const {
  const std::string expected =
      fmt::format("F32, BF16 or F16 [{}]", fmt::join(stored_shape(tensor), ", "));
  const CheckpointEntry& entry = entry_of_shape(tensor, expected);
  if (is_convertible(entry.dtype)) return;
  refuse(place_of(path_, kTensor, tensor.name), shown_type(entry.dtype, entry.shape), expected);
}

void Checkpoint::convert(const CheckpointTensor& tensor) const {
  const CheckpointEntry& entry = entries().at(tensor.name);
  const DType dtype = tensor.tensor.dtype;
  std::vector<std::byte> stored, results;
  for_each_piece(tensor, [&](const Piece& piece) {
    const Span& span = piece.span;
    const std::uint64_t count = span.bytes / size_of(dtype), size = size_of(entry.dtype);
    stored.resize(count * size);
    std::byte* to = stored.data();
    for (const Run& run : piece.runs) {
      read(data_begin_ + entry.begin + run.first * size, to, run.count * size);
      to += run.count * size;
    }
    if (entry.dtype == dtype) return span.owner->write(span, stored.data());
    results.resize(span.bytes);
    duet::convert(entry.dtype, stored.data(), dtype, results.data(), count);
    span.owner->write(span, results.data());
  });
}

void Checkpoint::read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(::fileno(file_.get()), at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const std::string reason = got < 0 ? std::strerror(errno) : "it has become shorter";
      refuse(path_, "cannot be read: " + reason, fmt::format("{} more bytes", bytes));
    }
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
}

}  // namespace duet
