#pragma once

#include <string>

namespace duet {

// From now on there are ranges (duet --nvtx); before any thread makes one. Returns whether a tool
// takes them.
bool show_profiler_ranges();
bool shows_profiler_ranges();

// What the calling thread does while it lives, as a range in the timeline of a profiler. Where
// ranges are not shown it costs one branch.
class ProfilerRange {
 public:
  // `text` returns the range's text, and is called where ranges are shown.
  template <typename Text>
  explicit ProfilerRange(const Text& text) : shown_(shows_profiler_ranges()) {
    if (shown_) begin(text());
  }
  ~ProfilerRange() {
    if (shown_) end();
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  static void begin(const std::string& text);
  static void end();

  const bool shown_;
};

}  // namespace duet
