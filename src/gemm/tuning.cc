#include "gemm/tuning.h"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/output_file.h"
#include "core/part_file.h"

namespace duet {
namespace {

constexpr int kFormat = 1;
constexpr std::uint64_t kMostWorkspace = std::uint64_t{1} << 40;

std::string to_hex(const std::vector<std::uint8_t>& data) {
  std::string text;
  for (std::uint8_t byte : data) text += fmt::format("{:02x}", byte);
  return text;
}

std::vector<std::uint8_t> from_hex(const std::string& text) {
  if (text.size() % 2 != 0 || text.find_first_not_of("0123456789abcdef") != text.npos) {
    throw Error("an algorithm is not hexadecimal");
  }
  std::vector<std::uint8_t> data;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    data.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return data;
}

nlohmann::json to_json(const std::map<std::string, TunedChoice>& choices) {
  nlohmann::json entries = nlohmann::json::object();
  for (const auto& [key, choice] : choices) {
    entries[key] = {{"algorithm", to_hex(choice.algorithm)},
                    {"workspace_bytes", choice.workspace_bytes},
                    {"description", choice.description}};
  }
  return {{"format", kFormat}, {"entries", entries}};
}

std::map<std::string, TunedChoice> from_json(const nlohmann::json& file) {
  if (file.at("format").get<int>() != kFormat) throw Error("written in another format");
  std::map<std::string, TunedChoice> choices;
  for (const auto& [key, entry] : file.at("entries").items()) {
    const auto& workspace = entry.at("workspace_bytes");
    if (!workspace.is_number_unsigned() || workspace.get<std::uint64_t>() > kMostWorkspace) {
      throw Error(fmt::format("\"workspace_bytes\" is {}: expected bytes from 0 to {}",
                              workspace.dump(), kMostWorkspace));
    }
    choices[key] = {from_hex(entry.at("algorithm").get<std::string>()),
                    workspace.get<std::uint64_t>(), entry.at("description").get<std::string>()};
  }
  return choices;
}

std::unique_ptr<TuningCache>& process_cache() {
  static auto cache = std::make_unique<TuningCache>();
  return cache;
}

}  // namespace

TuningCache::TuningCache(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) choices_ = read();
}

std::map<std::string, TunedChoice> TuningCache::read() const {
  if (OutputFile::is_special(path_)) refuse("cannot be read again");
  std::ifstream file(path_);
  if (!file || file.peek() == std::ifstream::traits_type::eof())
    return {};  // before the first store()
  try {
    return from_json(nlohmann::json::parse(file));
  } catch (const std::exception& error) {
    refuse(fmt::format("is not one: {}", error.what()));
  }
}

void TuningCache::refuse(const std::string& why) const {
  throw UsageError(
      fmt::format("tuning cache {} {}: expected a file that duet wrote, or a new one", path_, why));
}

std::string TuningCache::text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return to_json(choices_).dump();
}

void TuningCache::adopt(const std::string& text) {
  try {
    const auto adopted = from_json(nlohmann::json::parse(text));
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, choice] : adopted) choices_[key] = choice;
  } catch (const std::exception&) {
    return;
  }
}

std::optional<TunedChoice> TuningCache::find(const std::string& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = choices_.find(key);
  if (found == choices_.end()) return std::nullopt;
  return found->second;
}

void TuningCache::store(const std::string& key, const TunedChoice& choice) {
  const std::lock_guard<std::mutex> lock(mutex_);
  choices_[key] = choice;
  if (path_.empty()) return;
  std::map<std::string, TunedChoice> stored = read();  // other processes may have added theirs
  stored[key] = choice;
  OutputFile::write_whole(path_, to_json(stored).dump(1) + "\n");
}

std::string tuning_key(const TuningKey& key, const GemmProblem& problem, bool flushed) {
  const bool usual = problem.alignment == kMatrixAlignment;
  return fmt::format("{} | {} | {} | {} -> {}{}{}", key.device_model, key.library, key.engine,
                     name(problem), name(problem.output), flushed ? " | flushed" : "",
                     usual ? "" : fmt::format(" | aligned to {}", problem.alignment));
}

void set_tuning_cache(const std::string& path) {
  auto cache = std::make_unique<TuningCache>(path);
  const std::string reason = path.empty() ? "" : why_not_replaceable(path);
  if (!reason.empty()) {
    throw UsageError(fmt::format("tuning cache {} cannot be written: {}", path, reason));
  }
  process_cache() = std::move(cache);
}
TuningCache& tuning_cache() { return *process_cache(); }

}  // namespace duet
