// How long engines tune, and where the outcome is kept for later processes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gemm/problem.h"

namespace duet {

// What tuning chose: an algorithm in the library's own form.
struct TunedChoice {
  std::vector<std::uint8_t> algorithm;
  std::uint64_t workspace_bytes = 0;
  std::string description;
};

// A JSON file of choices by key; with an empty path, in memory only. A file that cannot be read or
// understood counts as empty, and warning() says so; it is written anew by the next store().
class TuningCache {
 public:
  explicit TuningCache(std::string path = {});

  std::optional<TunedChoice> find(const std::string& key) const;
  // Writes the file, by way of a temporary one beside it. Throws Error if it cannot.
  void store(const std::string& key, const TunedChoice& choice);

  const std::string& warning() const { return warning_; }

 private:
  void load();

  std::string path_;
  std::map<std::string, TunedChoice> choices_;
  std::string warning_;
};

// The key of a problem: a choice holds for one device model, library version and engine, and for
// calls that find the cache flushed or not.
struct TuningKey {
  std::string device_model;
  std::string library;  // with its version
  std::string engine;
};
std::string tuning_key(const TuningKey& key, const GemmProblem& problem, bool flushed = false);

// For the process; set before plans are made.
// Throws UsageError if the file could not be written.
void set_tuning_cache(const std::string& path);
TuningCache& tuning_cache();

}  // namespace duet
