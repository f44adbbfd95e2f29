#include "collectives/nccl/mode.h"

#include <fmt/format.h>

#include "collectives/nccl/vendor.h"

namespace duet::nccl {
namespace {

int first_version(const Mode& mode) {
  if (mode.zero_cta) return kZeroCtaSince;
  if (mode.windows) return kWindowsSince;
  return mode.max_ctas > 0 ? kCappedSince : 0;
}

bool has_windows(const Library& library) {
  return library.mem_alloc != nullptr && library.mem_free != nullptr &&
         library.window_register != nullptr && library.window_deregister != nullptr;
}

}  // namespace

Mode capped(const Mode& mode, int ctas) {
  Mode with = mode;
  with.suffix += fmt::format("-{}cta", ctas);
  with.words += fmt::format(", at most {} CTAs", ctas);
  with.max_ctas = ctas;
  return with;
}

Mode drop_in_mode() { return {"-duet", "behind libduet-nccl.so"}; }

Mode drop_in_kernel_mode() {
  return {"-duet-kernel", "behind libduet-nccl.so, by its kernel of chunks", false, false, 0, true};
}

std::vector<Mode> modes() {
  const Mode defaults{"", "defaults", false, false, 0};
  return {defaults,
          {"-window", "symmetric windows", true, false, 0},
          {"-zero-cta", "symmetric windows, CTA policy zero", true, true, 0},
          capped(defaults, 4),
          capped(defaults, 8),
          capped(defaults, 16)};
}

std::string missing(const Library& library, const Mode& mode) {
  if (library.version < first_version(mode)) {
    return fmt::format("needs {} {} or later, this is {}{}", library.product,
                       version_text(first_version(mode)), version_text(library.version),
                       mode.windows ? "" : kInsteadOfCap);
  }
  const bool configured = mode.zero_cta || mode.max_ctas > 0;
  if ((mode.windows && !has_windows(library)) ||
      (configured && library.comm_init_config == nullptr)) {
    return fmt::format("this {} {} has no {}", library.product, version_text(library.version),
                       mode.windows && !has_windows(library) ? "ncclCommWindowRegister"
                                                             : "ncclCommInitRankConfig");
  }
  return "";
}

}  // namespace duet::nccl
