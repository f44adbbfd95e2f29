// A side of a scenario as a Work.
#pragma once

#include <memory>
#include <string>

#include "overlap/engines.h"
#include "overlap/scenario.h"
#include "timing/repeated.h"

namespace duet {

class SideWork {
 public:
  // The side that computes; a collective there is by the default library.
  static SideWork computing(OverlapEngines& engines, const OverlapScenario& scenario);
  // The side that communicates, a collective by this engine. Both throw Unavailable where the
  // machine has no such engine, or the engine not such a collective.
  static SideWork communicating(OverlapEngines& engines, const OverlapScenario& scenario,
                                const std::string& engine);

  Work& all() { return *all_; }   // pieces
  std::string algorithm() const;  // of a GEMM, once it was prepared; else empty

 private:
  SideWork(std::unique_ptr<Work> piece, int pieces);

  std::unique_ptr<Work> piece_;
  std::unique_ptr<Repeated> all_;
};

}  // namespace duet
