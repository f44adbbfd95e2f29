// A Work between its preparation and its release, on all ranks.
#pragma once

#include <string>

#include "timing/work.h"

namespace duet {

// Releases on every rank, whatever happened.
class Prepared {
 public:
  Prepared(Team& team, Work& work, const Placement& placement);
  ~Prepared() { release(); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

 private:
  void release() noexcept;

  Team& team_;
  Work& work_;
};

// Verifies on every rank: throws what a rank throws; returns why it could not be, "" where it was.
std::string verify(Team& team, Work& work);

}  // namespace duet
