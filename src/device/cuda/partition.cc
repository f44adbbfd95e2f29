// Partitions of a GPU's SMs, by green contexts (CUDA Driver API, "Green Contexts"). The runtime's
// launches go to streams of a green context while the primary context is current.
#include "device/cuda/driver.h"
#include "device/gpu/vendor_calls.h"

namespace duet::cuda {
namespace {

struct Driver {
  DUET_DRIVER_FUNCTION(device, cuDeviceGet, 2000);
  DUET_DRIVER_FUNCTION(resource, cuDeviceGetDevResource, 12040);
  DUET_DRIVER_FUNCTION(split, cuDevSmResourceSplitByCount, 12040);
  DUET_DRIVER_FUNCTION(describe, cuDevResourceGenerateDesc, 12040);
  DUET_DRIVER_FUNCTION(create, cuGreenCtxCreate, 12040);
  DUET_DRIVER_FUNCTION(destroy, cuGreenCtxDestroy, 12040);
  DUET_DRIVER_FUNCTION(stream, cuGreenCtxStreamCreate, 12050);
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

struct SplitResource {
  CUdevResource first, rest;
};

CUdevice device_of(int ordinal) {
  CUdevice device = 0;
  DUET_DRIVER_CHECK(driver().device(&device, ordinal));
  return device;
}

// Splits the SMs in two. The first part has at least `count` SMs: the driver rounds up to its
// granularity.
SplitResource split(int ordinal, int count) {
  CUdevResource all{};
  DUET_DRIVER_CHECK(driver().resource(device_of(ordinal), &all, CU_DEV_RESOURCE_TYPE_SM));
  SplitResource parts{};
  unsigned groups = 1;
  DUET_DRIVER_CHECK(
      driver().split(&parts.first, &groups, &all, &parts.rest, 0, static_cast<unsigned>(count)));
  return parts;
}

class GreenContext : public UnitPartition {
 public:
  GreenContext(int ordinal, int left_out) {
    SplitResource parts = split(ordinal, left_out);
    CUdevResourceDesc description = nullptr;
    DUET_DRIVER_CHECK(driver().describe(&description, &parts.rest, 1));
    DUET_DRIVER_CHECK(
        driver().create(&context_, description, device_of(ordinal), CU_GREEN_CTX_DEFAULT_STREAM));
  }
  ~GreenContext() override { driver().destroy(context_); }
  GreenContext(const GreenContext&) = delete;
  GreenContext& operator=(const GreenContext&) = delete;

  cudaStream_t make_stream(int priority) const override {
    cudaStream_t stream = nullptr;
    DUET_DRIVER_CHECK(driver().stream(&stream, context_, CU_STREAM_NON_BLOCKING, priority));
    return stream;
  }

 private:
  CUgreenCtx context_ = nullptr;
};

}  // namespace

// The granularity is the size of the smallest part: 8 SMs on compute capability 9.0. Older drivers
// do not have partitions.
int unit_grain(int ordinal) {
  try {
    return static_cast<int>(split(ordinal, 1).first.sm.smCount);
  } catch (const Error&) {
    return 0;
  }
}

std::unique_ptr<UnitPartition> make_partition(int ordinal, int left_out) {
  return std::make_unique<GreenContext>(ordinal, left_out);
}

}  // namespace duet::cuda
