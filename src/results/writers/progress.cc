#include "results/writers/progress.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "core/terminal.h"
#include "results/writers/axis_columns.h"

namespace duet {
std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds < 3600) return fmt::format("{:.0f} min", std::ceil(seconds / 60));
  return fmt::format("{:.1f} h", seconds / 3600);
}

Progress::Progress(std::ostream& out, int width, std::function<double()> now)
    : out_(out), width_(width), now_(std::move(now)) {}

void Progress::start(const CaseId& id) {
  started_ = now_();
  std::string text = fmt::format("[{}/{}] ", done_ + 1, done_ + left_);
  if (done_ > 0) text += fmt::format("about {} left: ", duration_text(spent_ / done_ * left_));
  show(text + line_of(id));
}

void Progress::show(const std::string& text) {
  // One column stays free: a full line would scroll.
  command_terminal(out_, "\r");
  out_ << text.substr(0, static_cast<std::size_t>(width_ - 1));
  command_terminal(out_, "\033[K");
  out_ << std::flush;
  shown_ = true;
}

void Progress::done() {
  clear();
  spent_ += now_() - started_;
  ++done_;
  --left_;
}

void Progress::clear() {
  if (!shown_) return;
  command_terminal(out_, "\r\033[K");
  out_ << std::flush;
  shown_ = false;
}

}  // namespace duet
