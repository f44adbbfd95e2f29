#include "nccl_shim/settings.h"

#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "core/units.h"
#include "nccl_shim/protocol/creation.h"

namespace duet::nccl_shim {
namespace {

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

std::optional<std::uint64_t> read_least(const char* name) {
  const std::string_view value = variable(name);
  if (value.empty()) return std::nullopt;
  try {
    return parse_bytes(value);
  } catch (const UsageError&) {
    refuse(name, value, "a size, as 1M");
  }
}

std::size_t read_packets() {
  constexpr std::uint64_t kMost = 1 << 20;  // a rank has five times as much for each other one
  const char* const name = "DUET_NCCL_PACKETS";
  const std::uint64_t bytes = read_least(name).value_or(0);
  if (bytes > kMost || bytes % kAlignment != 0) {
    refuse(name, variable(name), "a multiple of 128 bytes up to 1M, as 64K");
  }
  return bytes;
}

}  // namespace

std::uint64_t Settings::hash() const {
  std::uint64_t hash = hash_bytes(&mode, sizeof mode, 0xcbf29ce484222325u);
  hash = hash_bytes(&packets, sizeof packets, hash);
  for (const auto& each : least) {
    const std::uint64_t words[] = {each.has_value() ? 1u : 0u, each.value_or(0)};
    hash = hash_bytes(words, sizeof words, hash);
  }
  return hash;
}

Settings read_settings() {
  Settings read;
  read.real_path = variable("DUET_NCCL");
  if (!read.real_path.empty() && read.real_path.find('/') == std::string::npos) {
    refuse("DUET_NCCL", read.real_path, "the path of the real libnccl.so.2, with a slash");
  }
  read.mode = read_mode();
  read.log = read_log();
  read.least = {read_least("DUET_NCCL_MIN_ALL_GATHER"), read_least("DUET_NCCL_MIN_ALL_TO_ALL"),
                read_least("DUET_NCCL_MIN_BROADCAST"), read_least("DUET_NCCL_MIN_REDUCE_SCATTER"),
                read_least("DUET_NCCL_MIN_ALL_REDUCE")};
  read.packets = read_packets();
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
