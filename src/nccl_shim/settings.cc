#include "nccl_shim/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "core/error.h"
#include "core/packets.h"
#include "core/units.h"
#include "nccl_shim/metrics_file.h"
#include "nccl_shim/protocol/creation.h"

namespace duet::nccl_shim {
namespace {

static_assert(kDropInPacketUnit == kAlignment);

constexpr std::string_view kPrefix = "DUET_NCCL_";
// By Kind.
constexpr const char* kLeast[kKinds] = {"DUET_NCCL_MIN_ALL_GATHER", "DUET_NCCL_MIN_ALL_TO_ALL",
                                        "DUET_NCCL_MIN_BROADCAST", "DUET_NCCL_MIN_REDUCE_SCATTER",
                                        "DUET_NCCL_MIN_ALL_REDUCE"};
constexpr const char* kLeastMessage = "DUET_NCCL_MIN_SEND_RECV";
constexpr const char* kKernels = "DUET_NCCL_KERNEL";  // of kinds that have none of their own:
constexpr const char* kKernel[kKinds] = {
    "DUET_NCCL_KERNEL_ALL_GATHER", "DUET_NCCL_KERNEL_ALL_TO_ALL", "DUET_NCCL_KERNEL_BROADCAST",
    "DUET_NCCL_KERNEL_REDUCE_SCATTER", "DUET_NCCL_KERNEL_ALL_REDUCE"};
constexpr const char* kOthers[] = {"DUET_NCCL_MODE",    "DUET_NCCL_LOG", "DUET_NCCL_METRICS",
                                   "DUET_NCCL_PACKETS", kKernels,        "DUET_NCCL_RANKS",
                                   "DUET_NCCL_GROUPS"};

// A misspelt name would otherwise be a setting without effect.
void require_known(std::string_view name) {
  if (name.substr(0, kPrefix.size()) != kPrefix) return;
  const auto is_known = [name](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (is_known(kOthers) || is_known(kKernel) || is_known(kLeast) || name == kLeastMessage) return;
  std::string known;
  for (const char* each : kOthers) known += std::string(each) + ", ";
  for (const char* each : kKernel) known += std::string(each) + ", ";
  for (const char* each : kLeast) known += std::string(each) + ", ";
  throw UsageError(std::string(name) + ": expected " + known + kLeastMessage +
                   ", or no such variable");
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

[[noreturn]] void refuse(const char* name, std::string_view value, const char* expected) {
  throw UsageError(std::string(name) + "=" + std::string(value) + ": expected " + expected);
}

Mode read_mode() {
  const std::string_view value = variable("DUET_NCCL_MODE");
  if (value.empty() || value == "auto") return Mode::automatic;
  if (value == "staged") return Mode::staged;
  if (value == "off") return Mode::off;
  refuse("DUET_NCCL_MODE", value, "auto, staged or off");
}

bool read_log() {
  const std::string_view value = variable("DUET_NCCL_LOG");
  if (value.empty() || value == "warn") return false;
  if (value == "info") return true;
  refuse("DUET_NCCL_LOG", value, "warn or info");
}

bool read_groups() {
  const std::string_view value = variable("DUET_NCCL_GROUPS");
  if (value.empty() || value == "messages") return false;
  if (value == "all_to_all") return true;
  refuse("DUET_NCCL_GROUPS", value, "messages or all_to_all");
}

std::string read_metrics() {
  const char* const name = "DUET_NCCL_METRICS";
  const std::string value(variable(name));
  try {
    file_of_process(value);
  } catch (const UsageError& error) {
    throw UsageError(std::string(name) + "=" + value + ": " + error.what());
  }
  return value;
}

std::optional<std::uint64_t> read_least(const char* name) {
  const std::string_view value = variable(name);
  if (value.empty()) return std::nullopt;
  try {
    return parse_bytes(value);
  } catch (const UsageError&) {
    refuse(name, value, "a size, as 1M");
  }
}

std::optional<int> read_ranks() {
  const char* const name = "DUET_NCCL_RANKS";
  const std::string_view value = variable(name);
  if (value.empty()) return std::nullopt;
  const int ranks = value.size() == 1 ? value[0] - '0' : 0;
  if (ranks < 2 || ranks > kMostRanks) refuse(name, value, "a number from 2 to 8");
  return ranks;
}

std::size_t read_packets() {
  const char* const name = "DUET_NCCL_PACKETS";
  const std::uint64_t bytes = read_least(name).value_or(0);
  if (bytes > kMostDropInPackets || bytes % kDropInPacketUnit != 0) {
    refuse(name, variable(name), "a multiple of 128 bytes up to 1M, as 64K");
  }
  return bytes;
}

}  // namespace

bool Thresholds::is_empty() const {
  const bool any = std::any_of(least.begin(), least.end(), [](const auto& each) { return !!each; });
  const bool any_kernel =
      std::any_of(kernel.begin(), kernel.end(), [](auto most) { return most > 0; });
  return !any && !any_kernel && !least_message && packets == 0;
}

std::uint64_t Settings::hash(const Thresholds& held) const {
  std::uint64_t hash = hash_bytes(&mode, sizeof mode, 0xcbf29ce484222325u);
  hash = hash_bytes(&held.packets, sizeof held.packets, hash);
  hash = hash_bytes(held.kernel.data(), sizeof held.kernel, hash);
  const int only[] = {ranks.value_or(0), all_to_all_groups ? 1 : 0};
  hash = hash_bytes(only, sizeof only, hash);
  const auto add = [&hash](const std::optional<std::uint64_t>& bytes) {
    const std::uint64_t words[] = {bytes.has_value() ? 1u : 0u, bytes.value_or(0)};
    hash = hash_bytes(words, sizeof words, hash);
  };
  for (const auto& each : held.least) add(each);
  add(held.least_message);
  return hash;
}

Settings read_settings() {
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view setting = *each;
    require_known(setting.substr(0, setting.find('=')));
  }
  Settings read;
  read.real_path = variable("DUET_NCCL");
  if (!read.real_path.empty() && read.real_path.find('/') == std::string::npos) {
    refuse("DUET_NCCL", read.real_path, "the path of the real libnccl.so.2, with a slash");
  }
  read.mode = read_mode();
  read.log = read_log();
  read.metrics = read_metrics();
  read.all_to_all_groups = read_groups();
  Thresholds& set = read.thresholds;
  std::transform(std::begin(kLeast), std::end(kLeast), set.least.begin(), read_least);
  set.least_message = read_least(kLeastMessage);
  set.packets = read_packets();
  const std::uint64_t all_kinds = read_least(kKernels).value_or(0);
  std::transform(std::begin(kKernel), std::end(kKernel), set.kernel.begin(),
                 [=](const char* name) { return read_least(name).value_or(all_kinds); });
  read.ranks = read_ranks();
  return read;
}

const Settings& settings() {
  static const Settings first = read_settings();
  return first;
}

bool settings_are_valid() {
  try {
    settings();
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace duet::nccl_shim
