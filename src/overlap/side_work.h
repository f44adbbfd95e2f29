#pragma once

#include <memory>
#include <string>

#include "overlap/engines.h"
#include "overlap/scenario.h"
#include "timing/repeated.h"

namespace duet {

// The Work of one side of a scenario.
class SideWork {
 public:
  // The compute side. The vendor's library runs it if it is a collective. Both functions throw
  // Unavailable where the machine does not have the engine, or where the engine cannot run the
  // collective.
  static SideWork computing(OverlapEngines& engines, const OverlapScenario& scenario);
  // The communication side. `engine` runs it if it is a collective.
  static SideWork communicating(OverlapEngines& engines, const OverlapScenario& scenario,
                                const std::string& engine);

  // The copy beside both; of a scenario that has one.
  static SideWork copying(OverlapEngines& engines, const OverlapScenario& scenario);

  Work& all() { return *all_; }   // all pieces
  std::string algorithm() const;  // a GEMM's algorithm after prepare(); otherwise ""

 private:
  SideWork(std::unique_ptr<Work> piece, int pieces);

  std::unique_ptr<Work> piece_;
  std::unique_ptr<Repeated> all_;
};

}  // namespace duet
