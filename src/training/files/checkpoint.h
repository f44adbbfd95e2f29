// Tensors of a model and of its optimiser in a file of the safetensors format:
//
//   8 bytes          N, little endian
//   N bytes          JSON: {"__metadata__": {text: text}, NAME: {"dtype": "F32", "shape": [2, 3],
//                    "data_offsets": [begin, end]}, ...}
//   all other bytes  the tensors' elements, little endian and row-major; offsets count from here
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "team/team.h"
#include "training/files/safetensors_header.h"
#include "training/operations/tensor.h"

namespace duet {

// A tensor in memory that Device::read() and write() reach, or a rank's part of one. In a file, a
// tensor of one row is a vector unless it is said to be a matrix: (1, n) has the shape [n].
struct CheckpointTensor {
  std::string name;  // "block.3.qkv.weight", "block.3.qkv.weight.first_moments"
  Tensor tensor;     // with memory, unless there is a part
  // The elements from `first` on, which are all that is here. Without elements: none is.
  std::optional<Tensor> part = std::nullopt;
  std::int64_t first = 0;
  bool is_matrix = false;
  // Of a part: it is one of these rows and columns of the tensor, whose elements `first` counts.
  MatrixPart place = {};
};

// Throws BadArgument for a type that is not stored (tf32 and those of fp8), for memory that is too
// small or has no contents, and for a part that is not one of the tensor.
void check_tensor(const CheckpointTensor& tensor);

// The longest that a rank writes its parts, and that others wait for it.
inline constexpr double kSaveSeconds = 3600;

// Tensors pass through host memory in pieces of this many bytes.
inline constexpr std::uint64_t kCheckpointPiece = 16 << 20;

// Writes the tensors, those with larger elements first, so that every element is aligned in the
// file. Blocking; it waits for no stream: synchronise those that write the tensors first.
//
// The file is written beside `path`, flushed to disk and then renamed: whatever happens before, a
// file at `path` stays as it was. If `path` is a symbolic link, its target is replaced.
//
// In names and metadata, bytes that are not UTF-8 are replaced. Throws Error with the reason if the
// file cannot be written, and BadArgument for names that occur twice and as check_tensor() does.
void save_checkpoint(const std::string& path, const std::map<std::string, std::string>& metadata,
                     const std::vector<CheckpointTensor>& tensors);
// The same by all ranks of a team, each of which writes its parts of all tensors; the metadata are
// rank 0's. All processes must reach the file by `path`. Collective, inside each(); throws on all
// ranks.
void save_checkpoint(Rank& rank, const std::string& path,
                     const std::map<std::string, std::string>& metadata,
                     const std::vector<CheckpointTensor>& tensors);

// Files that belong together.
struct CheckpointFile {
  std::string path;
  std::map<std::string, std::string> metadata;
  std::vector<CheckpointTensor> tensors;
};
struct CheckpointText {
  std::string path, text;
};
struct CheckpointFiles {
  std::vector<CheckpointFile> checkpoints;
  std::vector<CheckpointText> texts;
  std::vector<std::string> removed_before, removed_after;  // paths
};

// As save_checkpoint(), for all files: they are written beside those that they replace, so that the
// disk must have space for both, and flushed. Then, one path after the other, `removed_before` are
// removed, the checkpoints put in place, then the texts, and `removed_after` removed; a failure
// there, which is rare, leaves what was done before it. Of a team, texts and removals are those of
// rank 0.
void save_checkpoints(const CheckpointFiles& files);
void save_checkpoints(Rank& rank, const CheckpointFiles& files);

// A file that is open for reading. Replacing the file at its path does not change it.
class Checkpoint {
 public:
  // Checks all but the elements. Throws UsageError "PATH: what is wrong: expected ..." for a file
  // that cannot be read or breaks the format.
  explicit Checkpoint(std::string path);

  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const std::map<std::string, CheckpointEntry>& entries() const { return header_.entries; }

  // Reads all tensors of the file, or the parts that are here. Blocking; no stream may use the
  // tensors meanwhile. Throws UsageError, and has written no tensor, unless the file has exactly
  // these tensors with these types and shapes; BadArgument as save_checkpoint() does. If the file
  // then fails to be read or has become shorter, the UsageError leaves the tensors partly written.
  void load(const std::vector<CheckpointTensor>& tensors) const;

  // Of one tensor of fp32, bf16 or fp16, which the file may have in another of these types. The
  // first throws UsageError unless the file has it, of its shape; the second, after it, reads and
  // converts it, rounding to nearest even, and fails as load() does.
  void require_convertible(const CheckpointTensor& tensor) const;
  void convert(const CheckpointTensor& tensor) const;

 private:
  void require_same(const std::vector<CheckpointTensor>& tensors) const;
  const CheckpointEntry& entry_of_shape(const CheckpointTensor& tensor,
                                        const std::string& expected) const;
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) const;

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::uint64_t data_begin_ = 0;  // bytes, from the beginning of the file
  SafetensorsHeader header_;
};

}  // namespace duet
