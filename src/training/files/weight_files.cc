#include "training/files/weight_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "training/files/guarded_json.h"

namespace duet {
namespace {

constexpr const char* kWhole = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kRun = "duet_run";  // in metadata
constexpr const char* kExpectedIndex = "an index of safetensors files";
constexpr ExpectedJson kIndexJson{kExpectedIndex, "is not JSON", "name", "an index", 2};
constexpr const char* kWeightTensor = "tensor";  // in messages
constexpr std::uint64_t kMostJsonBytes = 16 << 20;

std::string in_folder(const std::string& folder, const std::string& file) {
  return (std::filesystem::path(folder) / file).string();
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// File by tensor.
std::map<std::string, std::string> weight_map_of(const std::string& index) {
  const nlohmann::json parsed =
      parse_guarded_json(index, text_of_json_file(index, kExpectedIndex), kIndexJson);
  const auto found = parsed.find("weight_map");
  const auto is_text = [](const nlohmann::json& value) { return value.is_string(); };
  if (found == parsed.end() || !found->is_object() ||
      !std::all_of(found->begin(), found->end(), is_text)) {
    refuse(index, "\"weight_map\" missing or wrong", "file names by tensor");
  }
  return found->get<std::map<std::string, std::string>>();
}

// A file of the same folder.
bool is_weight_file(const std::string& name) {
  return name != ".safetensors" && ends_with(name, ".safetensors") &&
         name.find('/') == std::string::npos && name.find("..") == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// "model-00001-of-00002.safetensors".
bool is_shard(const std::string& name) {
  const std::string pattern = "model-#####-of-#####.safetensors";
  return std::equal(name.begin(), name.end(), pattern.begin(), pattern.end(), [](char c, char p) {
    return p == '#' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : c == p;
  });
}

// What cannot be read is of no run.
bool is_of_run(const std::string& path, const std::string& run) {
  try {
    const Checkpoint file(path);
    const auto found = file.metadata().find(kRun);
    return found != file.metadata().end() && found->second == run;
  } catch (const UsageError&) {
    return false;
  }
}

std::vector<std::vector<CheckpointTensor>> shards_of(const SavedWeights& weights) {
  std::vector<std::vector<CheckpointTensor>> shards(1);
  std::uint64_t bytes = 0;
  for (const CheckpointTensor& each : weights.tensors) {
    if (bytes > 0 && bytes + each.tensor.bytes() > weights.most_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += each.tensor.bytes();
    shards.back().push_back(each);
  }
  return shards;
}

std::string index_text(const std::vector<CheckpointFile>& files) {
  nlohmann::ordered_json index;
  std::map<std::string, std::string> weight_map;
  std::uint64_t bytes = 0;
  for (const CheckpointFile& file : files) {
    for (const CheckpointTensor& each : file.tensors) {
      weight_map[each.name] = std::filesystem::path(file.path).filename().string();
      bytes += each.tensor.bytes();
    }
  }
  index["metadata"]["total_size"] = bytes;
  index["weight_map"] = weight_map;
  return index.dump(2) + "\n";
}

CheckpointFiles files_of(const SavedWeights& weights) {
  const auto path = [&](const std::string& file) { return in_folder(weights.folder, file); };
  CheckpointFiles files;
  const auto shards = shards_of(weights);
  for (const std::vector<CheckpointTensor>& shard : shards) {
    const std::string name = shards.size() == 1
                                 ? kWhole
                                 : fmt::format("model-{:05}-of-{:05}.safetensors",
                                               files.checkpoints.size() + 1, shards.size());
    files.checkpoints.push_back({path(name), metadata_of_run(weights.run), shard});
  }
  if (shards.size() > 1) files.texts.push_back({path(kIndex), index_text(files.checkpoints)});
  files.texts.push_back({path("config.json"), weights.config});
  return files;
}

// Sets what of an earlier save is removed: readers take model.safetensors rather than an index, and
// an index must not name files of both models.
void set_removed(const std::string& folder, CheckpointFiles& files) {
  std::vector<std::string> kept;
  for (const CheckpointFile& each : files.checkpoints) kept.push_back(each.path);
  const bool several = kept.size() > 1;
  const std::string index = in_folder(folder, kIndex), whole = in_folder(folder, kWhole);
  if (several && std::any_of(kept.begin(), kept.end(), is_there)) {
    files.removed_before.push_back(index);
  }
  files.removed_after.push_back(several ? whole : index);
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = each.path().filename().string(), path = in_folder(folder, name);
    if (is_shard(name) && std::count(kept.begin(), kept.end(), path) == 0) {
      files.removed_after.push_back(path);
    }
  }
  if (failed) throw Error(fmt::format("{}: cannot be read: {}", folder, failed.message()));
}

void prepare_folder(const std::string& folder, CheckpointFiles& files) {
  make_folder(folder);
  set_removed(folder, files);
}

}  // namespace

std::map<std::string, std::string> metadata_of_run(const std::string& run) {
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  if (!run.empty()) metadata.emplace(kRun, run);
  return metadata;
}

bool is_file_of_saved_model(const std::string& name) {
  const std::set<std::string> names = {"config.json", kWhole, kIndex, "adapter_config.json",
                                       "adapter_model.safetensors"};
  return names.count(name) > 0 || is_shard(name);
}

void require_no_other_model(const std::string& folder, const std::string& run) {
  std::string found;
  bool own = false;
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = each.path().filename().string();
    if (!is_file_of_saved_model(name)) continue;
    found = in_folder(folder, name);
    if (!is_weight_file(name)) continue;
    own = !run.empty() && is_of_run(found, run);
    if (!own) break;
  }
  if (failed && is_there(folder)) refuse(folder, "cannot be read: " + failed.message(), "a folder");
  if (found.empty() || own) return;
  refuse(found, run.empty() ? "exists" : "exists, and this run has not saved it",
         "a new folder for the model");
}

void make_folder(const std::string& folder) {
  std::error_code failed, ignored;
  std::filesystem::create_directories(folder, failed);
  if (std::filesystem::is_directory(folder, ignored)) return;
  const std::string reason = failed ? failed.message() : "no folder";
  refuse(folder, "cannot be created: " + reason, "a folder for a model");
}

std::string text_of_json_file(const std::string& path, const std::string& expected) {
  struct stat facts {};
  const bool found = ::stat(path.c_str(), &facts) == 0;
  if (!found) refuse(path, std::string("cannot be read: ") + std::strerror(errno), expected);
  if (!S_ISREG(facts.st_mode)) refuse(path, "no regular file", expected);
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  if (bytes > kMostJsonBytes) {
    refuse(path, fmt::format("{} bytes", bytes),
           fmt::format("{}, of at most {}", expected, kMostJsonBytes));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(bytes))) {
    refuse(path, "cannot be read", expected);
  }
  return text;
}

WeightFiles::WeightFiles(const std::string& folder) : source_(in_folder(folder, kWhole)) {
  const std::string index = in_folder(folder, kIndex);
  if (is_there(source_) || !is_there(index)) {
    const Checkpoint& only = files_.emplace_back(source_);
    for (const auto& [name, entry] : only.entries()) file_of_[name] = &only;
  } else {
    open_shards(folder, index);
  }
}

void WeightFiles::open_shards(const std::string& folder, const std::string& index) {
  source_ = index;
  const std::map<std::string, std::string> weight_map = weight_map_of(index);
  std::map<std::string, const Checkpoint*> opened;
  for (const auto& [tensor, file] : weight_map) {
    const std::string place = place_of(index, kWeightTensor, tensor);
    if (!is_weight_file(file)) {
      refuse(place, "in '" + one_line(file) + "'", "a file NAME.safetensors of the folder");
    }
    const Checkpoint*& opened_file = opened[file];
    if (opened_file == nullptr) opened_file = &files_.emplace_back(in_folder(folder, file));
    if (opened_file->entries().count(tensor) == 0) {
      refuse(place, "not in '" + one_line(file) + "'", "the file that has it");
    }
    file_of_[tensor] = opened_file;
  }
  for (const auto& [file, checkpoint] : opened) {
    for (const auto& [tensor, entry] : checkpoint->entries()) {
      const auto found = weight_map.find(tensor);
      if (found != weight_map.end() && found->second == file) continue;
      refuse(place_of(in_folder(folder, one_line(file)), kWeightTensor, tensor),
             found == weight_map.end() ? "not in the index"
                                       : "also in '" + one_line(found->second) + "'",
             "each tensor in the one file that the index says");
    }
  }
}

const Checkpoint& WeightFiles::file_of(const CheckpointTensor& tensor) const {
  const auto found = file_of_.find(tensor.name);
  if (found != file_of_.end()) return *found->second;
  refuse(place_of(source_, kWeightTensor, tensor.name), "missing", "a tensor of this name");
}

void WeightFiles::load(const std::vector<CheckpointTensor>& tensors) const {
  std::set<std::string> names;
  for (const CheckpointTensor& each : tensors) {
    check_tensor(each);
    file_of(each).require_convertible(each);
    names.insert(each.name);
  }
  for (const auto& [name, file] : file_of_) {
    if (names.count(name) > 0) continue;
    const auto& [dtype, shape, begin, end] = file->entries().at(name);
    refuse(place_of(source_, kWeightTensor, name), shown_type(dtype, shape),
           "no tensor of this name");
  }
  for (const CheckpointTensor& each : tensors) file_of(each).convert(each);
}

void save_weights(const SavedWeights& weights) {
  CheckpointFiles files = files_of(weights);
  prepare_folder(weights.folder, files);
  save_checkpoints(files);
}

void save_weights(Rank& rank, const SavedWeights& weights) {
  CheckpointFiles files = files_of(weights);
  rank.team.all_or_none(
      rank, "rank 0 to look at a folder",
      [&] {
        if (rank.index == 0) prepare_folder(weights.folder, files);
      },
      kSaveSeconds);
  save_checkpoints(rank, files);
}

}  // namespace duet
