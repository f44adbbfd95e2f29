#include "team/offered_memory.h"

#include <utility>

namespace duet {

OfferedMemory::OfferedMemory(Rank& rank, const std::function<Buffer()>& make,
                             const std::string& what)
    : team_(rank.team), local_(rank.local) {
  const auto make_own = [&] {
    own_ = make();
    return own_.span();
  };
  try {
    all_.emplace(rank, make_own, what);
  } catch (const Unreachable&) {
    keep();
    throw;
  } catch (const OnAllRanks&) {
    throw;  // some rank could not allocate, and none has imported another's
  } catch (...) {
    keep();
    throw;
  }
}

// Others may have imported it already.
void OfferedMemory::keep() { team_.retired().keep(std::move(own_)); }

OfferedMemory::~OfferedMemory() {
  const std::uint64_t number = all_->number();
  all_.reset();
  team_.retired().retire(local_, number, std::move(own_));
}

}  // namespace duet
