#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "timing/measurement.h"

namespace duet {

// "40 s", "3 min", "1.5 h".
std::string duration_text(double seconds);

// The line at the bottom of a terminal: the running case, the number of cases left and an estimate
// of their time. Only for terminals.
class Progress {
 public:
  // `now` returns a time in seconds; `width` is the terminal's, in columns.
  Progress(std::ostream& out, int width, std::function<double()> now);

  void plan(int cases) { left_ = cases; }
  void start(const CaseId& id);        // shows the line
  void done();                         // counts the case as done and removes the line
  void show(const std::string& text);  // as the line
  void clear();                        // removes the line

 private:
  std::ostream& out_;
  int width_;
  std::function<double()> now_;
  int left_ = 0;  // cases that are not done
  int done_ = 0;
  double started_ = 0;
  double spent_ = 0;  // seconds in cases that are done
  bool shown_ = false;
};

}  // namespace duet
