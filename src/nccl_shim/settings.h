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

struct Settings {
  std::string real_path;        // DUET_NCCL: the real libnccl.so.2; empty: the one that is loaded
  Mode mode = Mode::automatic;  // DUET_NCCL_MODE=auto, staged or off
  bool log = false;             // DUET_NCCL_LOG=info
  // DUET_NCCL_MIN_ALL_GATHER, _ALL_TO_ALL, _BROADCAST, _REDUCE_SCATTER, _ALL_REDUCE, by Kind: from
  // how many bytes on calls are taken over. Of all ranks' parts together. Empty: never.
  std::array<std::optional<std::uint64_t>, kKinds> least;
  // DUET_NCCL_MIN_SEND_RECV: the same of one message of send and receive.
  std::optional<std::uint64_t> least_message;

  std::string metrics;  // DUET_NCCL_METRICS: a file, as file_of_process() takes it; empty: none

  std::optional<int> ranks;  // DUET_NCCL_RANKS: of communicators of which calls are taken over
  std::size_t packets = 0;   // DUET_NCCL_PACKETS: up to how many bytes calls go as packets (Method)

  // Of what all ranks must have alike.
  std::uint64_t hash() const;
};

// Throws UsageError, which names the variable, what it holds and what was expected.
Settings read_settings();

// What read_settings() gave at the first call. Throws the same error at every call.
const Settings& settings();

// Whether settings() does not throw. If not, all calls of NCCL are refused (real_library.h).
bool settings_are_valid();

}  // namespace duet::nccl_shim
