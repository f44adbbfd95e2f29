// The line at the bottom of a terminal: which case runs, how many are left and for about how long.
// Never used in a pipe.
#pragma once

#include <functional>
#include <ostream>

#include "timing/measurement.h"

namespace duet {

class Progress {
 public:
  // `now` gives seconds; `width` is the terminal's.
  Progress(std::ostream& out, int width, std::function<double()> now);

  void plan(int cases) { left_ = cases; }
  void start(const CaseId& id);  // shows the line
  void done();                   // a case ended: removes the line
  void clear();                  // removes the line

 private:
  std::ostream& out_;
  int width_;
  std::function<double()> now_;
  int left_ = 0;  // cases that are not done
  int done_ = 0;
  double started_ = 0;
  double spent_ = 0;  // in cases that are done
  bool shown_ = false;
};

}  // namespace duet
