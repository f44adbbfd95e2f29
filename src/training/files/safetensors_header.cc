#include "training/files/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "training/files/guarded_json.h"

namespace duet {
namespace {

constexpr NamedValue<DType> kStoredTypes[] = {{DType::fp32, "F32"},
                                              {DType::bf16, "BF16"},
                                              {DType::fp16, "F16"},
                                              {DType::int32, "I32"},
                                              {DType::int8, "I8"}};
constexpr const char* kMetadataKey = "__metadata__";
constexpr std::uint64_t kHeaderMultiple = 8;  // aligns the data
constexpr ExpectedJson kHeader{"a safetensors file", "header is not JSON", "tensor", "tensors",
                               3};  // header, tensor, shape

std::map<std::string, std::string> metadata_of(const std::string& file,
                                               const nlohmann::json& header) {
  if (!header.contains(kMetadataKey)) return {};
  try {
    return header[kMetadataKey].get<std::map<std::string, std::string>>();
  } catch (const nlohmann::json::type_error&) {
    refuse(file, "metadata of another type", "texts by name");
  }
}

// The member `key` of an object.
std::vector<std::uint64_t> counts_of(const std::string& place, const nlohmann::json& tensor,
                                     const char* key) {
  const auto is_count = [](const nlohmann::json& value) { return value.is_number_unsigned(); };
  const auto found = tensor.find(key);
  if (found == tensor.end() || !found->is_array() ||
      !std::all_of(found->begin(), found->end(), is_count)) {
    refuse(place, fmt::format("\"{}\" missing or wrong", key), "a list of counts");
  }
  return found->get<std::vector<std::uint64_t>>();
}

CheckpointEntry entry_of(const std::string& place, const nlohmann::json& tensor) {
  if (!tensor.is_object()) refuse(place, "of another type", "an object");
  CheckpointEntry entry;
  entry.shape = counts_of(place, tensor, "shape");
  const nlohmann::json type = tensor.value("dtype", nlohmann::json());
  if (!type.is_string()) refuse(place, "\"dtype\" missing or wrong", "a text");
  const std::string word = one_line(type.get<std::string>());
  entry.dtype = parse_name(kStoredTypes, place + ": unknown dtype", word);
  std::uint64_t bytes = size_of(entry.dtype);
  for (const std::uint64_t side : entry.shape) {
    if (__builtin_mul_overflow(bytes, side, &bytes)) {
      refuse(place, "bytes of its shape overflow", "bytes that 64 bits can count");
    }
  }
  const std::vector<std::uint64_t> offsets = counts_of(place, tensor, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != bytes) {
    refuse(place, fmt::format("offsets [{}]", fmt::join(offsets, ", ")),
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
      refuse(place_of(file, kHeader.member, name), fmt::format("data begin at byte {}", begin),
             fmt::format("{}, where the data before end", last));
    }
    if (end > data_bytes) {
      refuse(place_of(file, kHeader.member, name), fmt::format("data end at byte {}", end),
             fmt::format("at most {}, where the file ends", data_bytes));
    }
    last = end;
  }
  if (last == data_bytes) return;
  refuse(file, fmt::format("{} bytes of data", data_bytes),
         fmt::format("{}, where the last tensor ends", last));
}

}  // namespace

bool is_stored(DType dtype) {
  const std::vector<DType> types = values_in(kStoredTypes);
  return std::count(types.begin(), types.end(), dtype) > 0;
}

std::string shown_type(DType dtype, const std::vector<std::uint64_t>& shape) {
  return fmt::format("{} [{}]", name_of(kStoredTypes, dtype), fmt::join(shape, ", "));
}

SafetensorsHeader parse_safetensors_header(const std::string& file, const std::string& text,
                                           std::uint64_t data_bytes) {
  const nlohmann::json header = parse_guarded_json(file, text, kHeader);
  SafetensorsHeader parsed{metadata_of(file, header), {}};
  for (const auto& [name, tensor] : header.items()) {
    if (name == kMetadataKey) continue;
    parsed.entries[name] = entry_of(place_of(file, kHeader.member, name), tensor);
  }
  require_contiguous(file, parsed.entries, data_bytes);
  return parsed;
}

std::string safetensors_header_text(
    const std::map<std::string, std::string>& metadata,
    const std::vector<std::pair<std::string, CheckpointEntry>>& entries) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  for (const auto& [name, entry] : entries) {
    header[name] = {{"dtype", name_of(kStoredTypes, entry.dtype)},
                    {"shape", entry.shape},
                    {"data_offsets", {entry.begin, entry.end}}};
  }
  using Errors = nlohmann::ordered_json::error_handler_t;
  std::string text = header.dump(-1, ' ', false, Errors::replace);  // what is not UTF-8
  text.resize((text.size() + kHeaderMultiple - 1) / kHeaderMultiple * kHeaderMultiple, ' ');
  if (text.size() <= kMostHeaderBytes) return text;
  throw BadArgument(fmt::format("a checkpoint's names and metadata: {} bytes: expected at most {}",
                                text.size(), kMostHeaderBytes));
}

}  // namespace duet
