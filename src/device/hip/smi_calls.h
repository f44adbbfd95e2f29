// The calls that AMD SMI and ROCm SMI have in common under other names, with one meaning.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "device/hip/smi.h"

namespace duet::hip {

// rsmi_error_count_t has two counts, amdsmi_error_count_t a third one and room.
struct SmiErrors {
  std::uint64_t correctable, uncorrectable, unused[6];
};

// rsmi_retired_page_record_t and amdsmi_retired_page_record_t
struct SmiRetiredPage {
  std::uint64_t address, bytes;
  int status;
};
static_assert(sizeof(SmiRetiredPage) == 24);

constexpr std::uint64_t kSmiMemoryController = 1;  // RSMI_GPU_BLOCK_UMC, AMDSMI_GPU_BLOCK_UMC
constexpr int kSmiPagePending = 1;                 // ..._MEM_PAGE_STATUS_PENDING
constexpr int kSmiPageUnreservable = 2;            // ..._MEM_PAGE_STATUS_UNRESERVABLE

// Handle: what a library knows a GPU by. Functions that it does not have are null, and their values
// unknown.
template <typename Handle>
class SmiCalls : public Smi {
 public:
  std::optional<double> joules(const std::string& bus) const override {
    const std::optional<Handle> device = device_at(bus);
    const double joules = device ? joules_of(*device) : 0;
    if (joules > 0) return joules;
    return std::nullopt;
  }

  std::optional<DeviceHealth> health(const std::string& bus) const override {
    const std::optional<Handle> device = device_at(bus);
    if (!device) return std::nullopt;
    DeviceHealth health;
    std::uint64_t blocks = 0;
    if (ecc_blocks_ != nullptr && ecc_blocks_(*device, &blocks) == 0) {
      health.ecc = (blocks & kSmiMemoryController) != 0;
    }
    SmiErrors errors{};
    if (health.ecc.value_or(false) && ecc_errors_ != nullptr &&
        ecc_errors_(*device, kSmiMemoryController, &errors) == 0) {
      health.uncorrected_errors = errors.uncorrectable;
      health.corrected_errors = errors.correctable;
    }
    add_pages(*device, health);
    return health;
  }

  std::optional<XgmiLinks> links(const std::string& from, const std::string& to) const override {
    const std::optional<Handle> here = device_at(from), there = device_at(to);
    std::uint64_t one = 0, all = 0;
    if (!here || !there || bandwidth_ == nullptr || bandwidth_(*here, *there, &one, &all) != 0 ||
        one == 0 || all < one) {
      return std::nullopt;
    }
    const double count = static_cast<double>(all) / static_cast<double>(one);
    return XgmiLinks{static_cast<int>(std::lround(count)), 1e-3 * static_cast<double>(all)};
  }

 protected:
  using Status = int;  // 0 is success

  std::optional<Handle> device_at(const std::string& bus) const {
    const auto found = devices_.find(bus);
    if (found == devices_.end()) return std::nullopt;
    return found->second;
  }

  // `id` has the domain in its upper half, the bus from bit 8 on, the device from bit 3 on and the
  // function in the lowest three. Of a GPU in partitions, which share an address, the first one has
  // the sensors.
  void add_device(std::uint64_t id, Handle device) {
    devices_.emplace(
        fmt::format("{:04x}:{:02x}:{:02x}.{:x}", id >> 32, id >> 8 & 0xFF, id >> 3 & 0x1F, id & 7),
        device);
  }

  // 0: there is no counter.
  double joules_of(Handle device) const {
    std::uint64_t count = 0, time = 0;
    float step = 0;
    if (energy_ == nullptr || energy_(device, &count, &step, &time) != 0) return 0;
    return 1e-6 * static_cast<double>(count) * static_cast<double>(step);
  }

  // The counter, microjoules of one of its steps, and a time.
  Status (*energy_)(Handle, std::uint64_t*, float*, std::uint64_t*) = nullptr;
  Status (*ecc_blocks_)(Handle, std::uint64_t*) = nullptr;  // a bit for each block that has ECC
  Status (*ecc_errors_)(Handle, std::uint64_t block, SmiErrors*) = nullptr;
  Status (*retired_pages_)(Handle, std::uint32_t*, SmiRetiredPage*) = nullptr;
  // MB/s of one link and of all.
  Status (*bandwidth_)(Handle, Handle, std::uint64_t*, std::uint64_t*) = nullptr;

  std::map<std::string, Handle> devices_;  // by PCI address

 private:
  // Pages of memory with errors, which the driver retires as NVIDIA's GPUs replace rows.
  void add_pages(Handle device, DeviceHealth& health) const {
    std::uint32_t count = 0;
    if (retired_pages_ == nullptr || retired_pages_(device, &count, nullptr) != 0) return;
    std::vector<SmiRetiredPage> pages(count);
    if (count > 0 && retired_pages_(device, &count, pages.data()) != 0) return;
    const auto any = [&pages](int status) {
      return std::any_of(pages.begin(), pages.end(),
                         [status](const SmiRetiredPage& page) { return page.status == status; });
    };
    health.remap_pending = any(kSmiPagePending);
    health.remap_failed = any(kSmiPageUnreservable);
  }
};

}  // namespace duet::hip
