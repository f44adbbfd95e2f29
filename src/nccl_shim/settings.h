// The environment variables of the drop-in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "nccl_shim/protocol/call.h"

namespace duet::nccl_shim {

// staged: calls go through slots, so that no rank maps a buffer of the program's in another
// process.
enum class Mode { automatic, staged, off };

// What is taken over.
struct Thresholds {
  // By Kind: from how many bytes on calls are. Of all ranks' parts together. Empty: never.
  std::array<std::optional<std::uint64_t>, kKinds> least;
  std::optional<std::uint64_t> least_message;  // the same of one message of send and receive
  std::size_t packets = 0;  // up to how many bytes calls go as packets (Method); 0: none do
  // By Kind: up to how many bytes calls that are neither packets nor copies are made by a kernel
  // that exchanges chunks; captured ones are never copies. 0: none are.
  std::array<std::uint64_t, kKinds> kernel{};
  bool shipped = false;  // with the library, for a model of devices

  bool is_empty() const;
};

struct Settings {
  std::string real_path;        // DUET_NCCL: the real libnccl.so.2; empty: the one that is loaded
  Mode mode = Mode::automatic;  // DUET_NCCL_MODE=auto, staged or off
  bool log = false;             // DUET_NCCL_LOG=info
  std::string metrics;  // DUET_NCCL_METRICS: a file, as file_of_process() takes it; empty: none

  // DUET_NCCL_MIN_ALL_GATHER, _ALL_TO_ALL, _BROADCAST, _REDUCE_SCATTER, _ALL_REDUCE, _SEND_RECV,
  // DUET_NCCL_PACKETS, and DUET_NCCL_KERNEL, of all kinds or with the first five of these endings.
  Thresholds thresholds;
  bool all_to_all_groups = false;  // DUET_NCCL_GROUPS=all_to_all: grouped_messages.h
  std::optional<int> ranks;  // DUET_NCCL_RANKS: of communicators of which calls are taken over

  // Of what all ranks must have alike, with the thresholds that hold for a communicator.
  std::uint64_t hash(const Thresholds& held) const;
};

// Throws UsageError, which names the variable, what it holds and what was expected.
Settings read_settings();

// What read_settings() gave at the first call. Throws the same error at every call.
const Settings& settings();

// Whether settings() does not throw. If not, all calls of NCCL are refused (real_library.h).
bool settings_are_valid();

}  // namespace duet::nccl_shim
