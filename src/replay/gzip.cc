#include "replay/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/error.h"
#include "core/units.h"
#include "importing/words.h"

namespace duet {
namespace {

// zlib's state of one file, which may have several parts behind each other.
class Inflation {
 public:
  explicit Inflation(std::string_view bytes) : left_(bytes) {
    constexpr int kWindow = 15, kGzipAlone = 16;  // as inflateInit2() takes them
    if (inflateInit2(&state_, kWindow + kGzipAlone) != Z_OK) throw OutOfMemory("zlib's state");
  }
  ~Inflation() { inflateEnd(&state_); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;

  // The bytes that it has written, at most `room` of them; fewer where zlib counts no further.
  std::size_t fill(char* to, std::size_t room) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    state_.next_out = reinterpret_cast<Bytef*>(to);
    state_.avail_out = static_cast<uInt>(std::min(room, kMost));
    while (state_.avail_out > 0 && !ended_) {
      if (state_.avail_in == 0) take_input();
      step();
    }
    return static_cast<std::size_t>(reinterpret_cast<char*>(state_.next_out) - to);
  }

  bool ended() const { return ended_; }

 private:
  void take_input() {
    constexpr std::size_t kMost = 1 << 30;
    const std::string_view next = left_.substr(0, kMost);
    state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next.data()));
    state_.avail_in = static_cast<uInt>(next.size());
    left_.remove_prefix(next.size());
  }

  void step() {
    const int told = inflate(&state_, Z_NO_FLUSH);
    if (told == Z_STREAM_END) {
      if (state_.avail_in == 0) take_input();
      ended_ = state_.avail_in == 0;
      if (!ended_) inflateReset(&state_);
    } else if (told != Z_OK) {
      throw UsageError("compressed, but damaged or cut short: expected a file as gzip writes it");
    }
  }

  z_stream state_{};
  std::string_view left_;
  bool ended_ = false;
};

}  // namespace

bool is_gzip(std::string_view bytes) { return begins_with(bytes, "\x1f\x8b"); }

std::string unpacked_gzip(std::string_view bytes, std::size_t most) {
  constexpr std::size_t kStep = 16 << 20;
  Inflation inflation(bytes);
  std::string text;
  while (!inflation.ended()) {
    const std::size_t had = text.size();
    if (had > most) throw UsageError(fmt::format("unpacks to more than {}", format_bytes(most)));
    text.resize(had + std::max(kStep, had));
    text.resize(had + inflation.fill(&text[had], text.size() - had));
  }
  return text;
}

}  // namespace duet
