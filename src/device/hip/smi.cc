#include "device/hip/smi.h"

#include "core/error.h"
#include "device/hip/amd_smi.h"
#include "device/hip/rocm_smi.h"

namespace duet::hip {
namespace {

template <typename Library>
std::unique_ptr<Smi> open_if_there() {
  try {
    return std::make_unique<Library>();
  } catch (const Unavailable&) {
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<Smi> open_smi() {
  auto smi = open_if_there<AmdSmi>();
  return smi != nullptr ? std::move(smi) : open_if_there<RocmSmi>();
}

const Smi* smi() {
  static const std::unique_ptr<Smi> opened = open_smi();
  return opened.get();
}

}  // namespace duet::hip
