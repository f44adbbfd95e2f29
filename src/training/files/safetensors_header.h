// The header of a file of the safetensors format, whose layout is in checkpoint.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.h"

namespace duet {

inline constexpr std::uint64_t kMostHeaderBytes = 100000000;  // as other readers of the format

// Where a tensor is in a file.
struct CheckpointEntry {
  DType dtype = DType::fp32;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes, from the beginning of the data
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::map<std::string, CheckpointEntry> entries;
};

bool is_stored(DType dtype);  // fp32, bf16, fp16, int32 and int8 are
// "F32 [2, 3]".
std::string shown_type(DType dtype, const std::vector<std::uint64_t>& shape);

// Throws UsageError unless the text is a header whose tensors fill `data_bytes` bytes.
SafetensorsHeader parse_safetensors_header(const std::string& file, const std::string& text,
                                           std::uint64_t data_bytes);

// Of tensors by name, in the order of their data. Throws BadArgument for a header that is too long.
std::string safetensors_header_text(
    const std::map<std::string, std::string>& metadata,
    const std::vector<std::pair<std::string, CheckpointEntry>>& entries);

}  // namespace duet
