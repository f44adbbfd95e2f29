// The functions of NVML that Duet calls, for GPUs whose PCI address says what they are:
//   0000:01:00.0   in order, with 18 links
//   0000:02:00.0   two uncorrected errors, a row to be replaced, one of its 12 links down
//   0000:03:00.0   without ECC and links
#include <cstring>

namespace {

constexpr int kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kTimeout = 10;

struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

int number(void* device) { return static_cast<int>(reinterpret_cast<long>(device)); }

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  if (std::strlen(bus) != 12 || bus[6] < '1' || bus[6] > '3') return kNotFound;
  *device = reinterpret_cast<void*>(static_cast<long>(bus[6] - '0'));
  return 0;
}

int nvmlDeviceGetEccMode(void* device, int* current, int* pending) {
  if (number(device) == 3) return kNotSupported;
  *current = *pending = 1;
  return 0;
}

int nvmlDeviceGetTotalEccErrors(void* device, int kind, int counter, unsigned long long* errors) {
  if (counter != 0) return kInvalidArgument;  // since the driver's load
  if (kind == 0) *errors = 5;                 // corrected
  if (kind == 1) *errors = number(device) == 2 ? 2 : 0;
  return 0;
}

int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  if (number(device) == 3) return kNotSupported;
  *corrected = 4;
  *uncorrected = 1;
  *pending = number(device) == 2 ? 1 : 0;
  *failed = 0;
  return 0;
}

int nvmlDeviceGetPcieReplayCounter(void* device, unsigned* count) {
  if (number(device) == 3) return kNotSupported;
  *count = 7;
  return 0;
}

// Of each of the first GPU's links: replays 0, recoveries 1, errors of flits 2, of data 3.
int nvmlDeviceGetNvLinkErrorCounter(void* device, unsigned link, int counter,
                                    unsigned long long* count) {
  if (number(device) != 1 || link >= 18) return kNotSupported;
  *count = static_cast<unsigned long long>(counter);
  return 0;
}

// Events of the second GPU: XIDs 63 and 79, once. The third has none.
int nvmlEventSetCreate(void** set) {
  *set = new int(0);
  return 0;
}

int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  if (types != 8) return kInvalidArgument;
  if (number(device) == 3) return kNotSupported;
  *static_cast<int*>(set) = number(device) == 2 ? 2 : 0;
  return 0;
}

int nvmlEventSetFree(void* set) {
  delete static_cast<int*>(set);
  return 0;
}

int nvmlEventSetWait_v2(void* set, Event* event, unsigned milliseconds) {
  int& left = *static_cast<int*>(set);
  if (milliseconds != 0) return kInvalidArgument;
  if (left == 0) return kTimeout;
  *event = {nullptr, 8, left == 2 ? 63u : 79u, 0, 0};
  --left;
  return 0;
}

int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
  const unsigned links = number(device) == 1 ? 18 : number(device) == 2 ? 12 : 0;
  if (link >= links) return kNotSupported;
  *active = number(device) == 2 && link == 5 ? 0 : 1;
  return 0;
}
}
