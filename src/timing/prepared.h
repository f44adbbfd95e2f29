#pragma once

#include <string>

#include "timing/work.h"

namespace duet {

// Prepares a Work on all ranks; its destructor releases the Work on all local ranks. If prepare()
// throws on a rank, the constructor releases and rethrows. Collective.
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

// Verifies on every rank of all processes. Returns "" if all were verified, otherwise why one could
// not be. Throws what Work::verify() throws. Collective.
std::string verify(Team& team, Work& work);

}  // namespace duet
