// Devices, their properties and how they reach each other; errors.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "fake_gpu/hip/runtime.h"

namespace fake_gpu {
namespace {

constexpr int kUnits = 304, kVersion = 60443484;
constexpr std::uint32_t kXgmi = 4;

struct Peers {
  std::mutex mutex;
  std::set<std::pair<int, int>> enabled;
};
Peers& peers() {
  static auto* const all = new Peers;
  return *all;
}

thread_local int current = 0;
thread_local hipError_t last = hipSuccess;

bool is_device(int device) { return device >= 0 && device < device_count(); }

struct ErrorName {
  hipError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorName kErrors[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorNoDevice, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidContext, "hipErrorInvalidContext", "invalid device context"},
    {hipErrorMapFailed, "hipErrorMapFailed", "mapping of buffer object failed"},
    {hipErrorPeerAccessUnsupported, "hipErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    {hipErrorLaunchTimeOut, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {hipErrorPeerAccessAlreadyEnabled, "hipErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {hipErrorStreamCaptureInvalidated, "hipErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {hipErrorStreamCaptureUnmatched, "hipErrorStreamCaptureUnmatched",
     "capture was not begun on this stream"},
    {hipErrorStreamCaptureUnjoined, "hipErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
    {hipErrorStreamCaptureIsolation, "hipErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {hipErrorCapturedEvent, "hipErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
};

const ErrorName* named(hipError_t error) {
  const auto* const found =
      std::find_if(std::begin(kErrors), std::end(kErrors),
                   [error](const ErrorName& each) { return each.error == error; });
  return found == std::end(kErrors) ? nullptr : found;
}

}  // namespace

std::string setting(const std::string& word) {
  const char* const all = std::getenv("DUET_STANDIN");
  const std::string text = std::string(",") + (all != nullptr ? all : "") + ",";
  const std::size_t found = text.find("," + word);
  if (found == std::string::npos) return "";
  const std::size_t begin = found + 1;
  return text.substr(begin, text.find(',', begin) - begin);
}

int device_count() {
  static const int count = [] {
    const std::string text = setting("gpus=");
    return text.empty() ? 4 : std::atoi(text.c_str() + std::strlen("gpus="));
  }();
  return count;
}

bool is_set(const char* word) { return !setting(word).empty(); }

const std::string& architecture() {
  static const std::string name = [] {
    const std::string text = setting("arch=");
    return text.empty() ? "gfx942" : text.substr(std::strlen("arch="));
  }();
  return name;
}

bool has_peers() { return !is_set("no-peers"); }

int current_device() { return current; }

bool peer_enabled(int from, int to) {
  const std::lock_guard<std::mutex> lock(peers().mutex);
  return from == to || peers().enabled.count({from, to}) > 0;
}

hipError_t result(hipError_t error) {
  if (error != hipSuccess) last = error;
  return error;
}

bool reaches(int device, const void* data, std::size_t bytes) {
  const std::optional<Range> range = memory().find(data);
  if (!range || !range->has(data, bytes)) return false;
  return range->kind == Kind::host || range->kind == Kind::managed ||
         peer_enabled(device, range->device);
}

bool is_coherent(const void* data) {
  const std::optional<Range> range = memory().find(data);
  return range && range->coherent;
}

void require_coherent(const void* data, const char* what) {
  if (is_coherent(data)) return;
  std::fprintf(stderr, "hip stand-in: %s at %p, which is not coherent with other devices\n", what,
               data);
  std::abort();
}

void require_reach(int device, const void* data, std::size_t bytes, const char* what) {
  if (bytes == 0 || reaches(device, data, bytes)) return;
  std::fprintf(stderr, "Memory access fault by GPU %d: %s, %zu bytes at %p\n", device, what, bytes,
               data);
  std::abort();
}

extern "C" {

const char* hipGetErrorName(hipError_t error) {
  const auto* const found = named(error);
  return found == nullptr ? "hipErrorUnknown" : found->name;
}

const char* hipGetErrorString(hipError_t error) {
  const auto* const found = named(error);
  return found == nullptr ? "unknown error" : found->text;
}

hipError_t hipGetLastError() { return std::exchange(last, hipSuccess); }

hipError_t hipDriverGetVersion(int* version) {
  *version = kVersion;
  return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }

hipError_t hipGetDeviceCount(int* count) {
  *count = device_count();
  return result(*count > 0 ? hipSuccess : hipErrorNoDevice);
}

hipError_t hipSetDevice(int device) {
  if (!is_device(device)) return result(hipErrorInvalidDevice);
  current = device;
  return hipSuccess;
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device) {
  if (!is_device(device)) return result(hipErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "stand-in for tests");
  std::snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "%s:sramecc+:xnack-",
                architecture().c_str());
  properties->totalGlobalMem = kDeviceBytes;
  properties->warpSize = 64;
  properties->maxThreadsPerBlock = 1024;
  properties->multiProcessorCount = kUnits;
  properties->ECCEnabled = 1;
  properties->l2CacheSize = 4 << 20;
  return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  if (!is_device(device)) return result(hipErrorInvalidDevice);
  switch (attribute) {
    case hipDeviceAttributeClockRate:
      *value = 2'100'000;
      return hipSuccess;
    case hipDeviceAttributeMemoryBusWidth:
      *value = 8192;
      return hipSuccess;
    case hipDeviceAttributeMemoryClockRate:
      *value = 1'300'000;
      return hipSuccess;
    case hipDeviceAttributeMultiprocessorCount:
      *value = kUnits;
      return hipSuccess;
    case hipDeviceAttributeSharedMemPerBlockOptin:
      *value = 64 << 10;
      return hipSuccess;
  }
  return result(hipErrorInvalidValue);
}

hipError_t hipDeviceGetPCIBusId(char* text, int length, int device) {
  if (!is_device(device)) return result(hipErrorInvalidDevice);
  // A bus that no machine has, so that nothing is read of another device in sysfs.
  const int written =
      std::snprintf(text, static_cast<std::size_t>(length), "ffff:%02x:00.0", device);
  return result(written < length ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 1;
  *greatest = -1;
  return hipSuccess;
}

hipError_t hipDeviceSynchronize() {
  const bool done = wait_for_device(current, kDeadlineSeconds);
  if (done) memory().release_to_system(current);
  return result(done ? hipSuccess : hipErrorLaunchTimeOut);
}

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) {
    return result(hipErrorInvalidDevice);
  }
  *can = device != peer && has_peers() ? 1 : 0;
  return hipSuccess;
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (!is_device(peer) || peer == current) return result(hipErrorInvalidDevice);
  if (flags != 0) return result(hipErrorInvalidValue);
  if (!has_peers()) return result(hipErrorPeerAccessUnsupported);
  const std::lock_guard<std::mutex> lock(peers().mutex);
  const bool added = peers().enabled.insert({current, peer}).second;
  return result(added ? hipSuccess : hipErrorPeerAccessAlreadyEnabled);
}

hipError_t hipExtGetLinkTypeAndHopCount(int from, int to, std::uint32_t* type,
                                        std::uint32_t* hops) {
  if (!is_device(from) || !is_device(to) || from == to) {
    return result(hipErrorInvalidValue);
  }
  *type = kXgmi;
  *hops = 1;
  return hipSuccess;
}

}  // extern "C"

}  // namespace fake_gpu
