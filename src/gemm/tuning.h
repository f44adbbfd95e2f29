// Keeps the algorithms that tuning chose, for later processes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gemm/problem.h"

namespace duet {

// The algorithm that tuning chose.
struct TunedChoice {
  std::vector<std::uint8_t> algorithm;  // in the library's own binary form
  std::uint64_t workspace_bytes = 0;
  std::string description;
};

// A JSON file of choices by key; with an empty path, in memory only. Ranks' threads use it at the
// same time.
class TuningCache {
 public:
  // Reads the file, which may be missing or empty. Throws UsageError if it is anything else than
  // what store() wrote.
  explicit TuningCache(std::string path = {});

  std::optional<TunedChoice> find(const std::string& key) const;
  // Adds a choice to what the file has by now, and replaces it atomically. Throws Error if it
  // cannot be written, or has been replaced by something else.
  void store(const std::string& key, const TunedChoice& choice);

  // All choices as JSON, and choices in that form, which replace those of the same keys until the
  // process ends: they are not written to the file. Text in another form adds nothing.
  std::string text() const;
  void adopt(const std::string& text);

 private:
  std::map<std::string, TunedChoice> read() const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string path_;
  mutable std::mutex mutex_;  // guards the choices and the file
  std::map<std::string, TunedChoice> choices_;
};

// A choice holds for one device model, library version and engine.
struct TuningKey {
  std::string device_model;
  std::string library;  // with its version
  std::string engine;
};
// The cache's key for a problem, tuned with or without a flushed cache.
std::string tuning_key(const TuningKey& key, const GemmProblem& problem, bool flushed = false);

// Sets the file of the process's tuning cache; "": in memory only. Call it before plans are made.
// Throws UsageError if the file is no tuning cache or cannot be written.
void set_tuning_cache(const std::string& path);
TuningCache& tuning_cache();

}  // namespace duet
