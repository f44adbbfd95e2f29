#include "device/host/device.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/clock.h"
#include "core/error.h"
#include "core/thread.h"
#include "core/units.h"
#include "device/contents.h"
#include "device/host/host.h"
#include "device/host/kernel.h"
#include "device/host/stream.h"

namespace duet::host {
namespace {

constexpr int kMostDevices = 64, kMostCopies = 1 << 20;
constexpr std::string_view kQueue = ":queue=";

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return trim(line.substr(line.find(':') + 1));
  }
  return "unknown CPU";
}

// The cores of a device: consecutive ones, or a single one if there are no more cores than devices.
std::vector<int> share_of(const std::vector<int>& cores, int device, int devices) {
  const int count = static_cast<int>(cores.size());
  if (devices >= count) return {cores[static_cast<std::size_t>(device % count)]};
  const int begin = count * device / devices, end = count * (device + 1) / devices;
  return {cores.begin() + begin, cores.begin() + end};
}

// The size in bytes of the first core's largest cache, as the kernel states it. In a virtual
// machine the C library may state that of the whole chip instead.
std::uint64_t last_level_cache() {
  std::uint64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    std::uint64_t kib = 0;
    if (file >> kib) largest = std::max(largest, kib << 10);
  }
  if (largest > 0) return largest;
  long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes <= 0) bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 32ull << 20;
}

}  // namespace

HostDevice::HostDevice(HostMachine& machine, DeviceInfo info, std::vector<int> cores)
    : machine_(machine),
      info_(std::move(info)),
      imports_(map_exported, unmap_exported),
      workers_(machine.sync(), std::move(cores), info_.name) {}

std::unique_ptr<Stream> HostDevice::make_stream(const StreamOptions& options) {
  check_units(info_, options.units);
  return std::make_unique<HostStream>(*this, options.priority);
}

std::unique_ptr<Event> HostDevice::make_event(EventUse) {
  return std::make_unique<HostEvent>(*this);
}

std::unique_ptr<PreparedKernel> HostDevice::prepare(const CollectiveKernel& kernel) {
  return std::make_unique<HostKernel>(*this, kernel);
}

Span HostDevice::acquire(std::uint64_t bytes, MemoryKind kind) {
  if (in_use_ + bytes > info_.memory_bytes || in_use_ + bytes < bytes) {
    throw OutOfMemory(fmt::format("{}: {} bytes asked for, {} of {} in use", info_.name, bytes,
                                  in_use_.load(), info_.memory_bytes));
  }
  // Pages of 2 MiB, where the kernel has them: large copies and GEMMs then have fewer TLB misses.
  const bool huge = kind != MemoryKind::pageable && bytes >= kHugePage;
  const std::size_t alignment = huge ? kHugePage : host_alignment(bytes);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  const bool shared = kind == MemoryKind::device && machine_.shareable();
  void* data = shared ? exports_.allocate(rounded) : std::aligned_alloc(alignment, rounded);
  if (data == nullptr) throw OutOfMemory(fmt::format("{}: {} bytes", info_.name, bytes));
  if (huge) madvise(data, rounded, MADV_HUGEPAGE);
  in_use_ += bytes;
  return {this, static_cast<std::byte*>(data), bytes, kind};
}

void HostDevice::release(const Span& span) noexcept {
  if (!exports_.release(span.data)) std::free(span.data);
  in_use_ -= span.bytes;
}

Span HostDevice::adopt(void* data, std::uint64_t bytes) {
  if (data == nullptr && bytes > 0) {
    throw BadArgument(fmt::format("{}: no memory to adopt", info_.name));
  }
  return {this, static_cast<std::byte*>(data), bytes, MemoryKind::device};
}

MemoryDescriptor HostDevice::export_memory(const Span& span) {
  machine_.require_own(span, "span to share");
  return exports_.export_memory(span, info_.name);
}

Span HostDevice::import_memory(const MemoryDescriptor& descriptor) {
  require_mappable(descriptor, "host");
  return {this, imports_.map(descriptor), descriptor.bytes, MemoryKind::peer};
}

void HostDevice::close_import(const Span& span) noexcept { imports_.unmap(span.data); }

void HostDevice::read(const Span& from, void* to) {
  machine_.require_own(from, "span to read");
  std::memcpy(to, from.data, from.bytes);
}

void HostDevice::write(const Span& to, const void* from) {
  machine_.require_own(to, "span to write");
  std::memcpy(to.data, from, to.bytes);
}

void HostDevice::signal(const Semaphore& semaphore, std::uint64_t value) {
  machine_.require_own(semaphore.word, "semaphore");
  const std::lock_guard<std::mutex> lock(machine_.sync().mutex);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(semaphore.word.data), value, __ATOMIC_RELEASE);
  machine_.sync().advance();
}

void HostDevice::finish(double deadline_seconds) {
  if (workers_.finish(deadline_seconds)) return;
  throw Timeout(fmt::format("{}: its work did not end within {} s", info_.name, deadline_seconds));
}

std::optional<Difference> HostDevice::check(const Span& span, const Fill& fill) {
  machine_.require_own(span, "span to check");
  if (fill.kind == FillKind::normal)
    throw BadArgument("check: normal fills differ from device to device");
  const int parts = span.bytes >= kHugePage ? workers_.cores() : 1;
  const std::size_t share = span.bytes / static_cast<std::size_t>(parts) / 64 * 64;
  std::vector<Difference> found(static_cast<std::size_t>(parts));
  workers_.parallel(parts, [&](int part) {
    const std::size_t begin = share * static_cast<std::size_t>(part);
    const std::size_t end = part + 1 == parts ? span.bytes : begin + share;
    found[static_cast<std::size_t>(part)] =
        compare_fill(fill, span.data + begin, begin, end - begin);
  });
  Difference all;
  for (const Difference& one : found) {
    if (all.count == 0) all.first_offset = one.first_offset;
    all.count += one.count;
  }
  if (all.count == 0) return std::nullopt;
  return all;
}

HostMachine::HostMachine(int devices, std::size_t most_copies)
    : name_(devices == 1 ? "host" : fmt::format("host:{}", devices)),
      most_copies_(most_copies),
      scheduler_(make_thread_scheduler()) {
  std::vector<int> cores = allowed_cores();
  if (cores.empty()) cores.push_back(0);
  const std::uint64_t memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                               static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < devices; ++i) {
    std::vector<int> mine = share_of(cores, i, devices);
    DeviceInfo info;
    info.name = fmt::format("host:{}", i);
    info.kind = "host";
    info.is_cpu = true;
    info.model = cpu_model();
    info.compute_units = static_cast<int>(mine.size());
    info.memory_bytes = memory / static_cast<std::uint64_t>(devices);
    info.cache_bytes = last_level_cache();
    info.priorities = 2;
    info.cpu_addressable = true;
    devices_.push_back(std::make_unique<HostDevice>(*this, std::move(info), std::move(mine)));
  }
}

Device& HostMachine::device(int index) { return *devices_.at(static_cast<std::size_t>(index)); }

Link HostMachine::link(int, int) const { return {"memory", 1, 0, true}; }

double HostMachine::now() { return steady_now(); }

void HostMachine::require_own(const Span& span, const char* what) const {
  const auto mine = [&](const auto& device) { return device.get() == span.owner; };
  if (std::none_of(devices_.begin(), devices_.end(), mine)) {
    throw BadArgument(fmt::format("{}: the {} is not memory of this machine", name_, what));
  }
  if (span.data == nullptr && span.bytes > 0) {
    throw BadArgument(fmt::format("{}: the {} has no memory", name_, what));
  }
}

bool HostMachine::is_shared(const Span& span) const {
  return span.kind == MemoryKind::peer || (span.kind == MemoryKind::device && shareable());
}

namespace {

// Whether all of the text is a number from 1 to `most`.
bool read_number(std::string_view text, int most, int& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() && number >= 1 && number <= most;
}

std::unique_ptr<Machine> open_host(const std::string& argument) {
  if (argument.empty()) return std::make_unique<HostMachine>(1);
  const std::size_t colon = std::min(argument.find(':'), argument.size());
  const std::string_view text = argument, queue = text.substr(colon);
  int devices = 1, copies = 0;
  const bool bounded = queue.rfind(kQueue, 0) == 0;
  const bool known =
      queue.empty() || (bounded && read_number(queue.substr(kQueue.size()), kMostCopies, copies));
  if (!known || !read_number(text.substr(0, colon), kMostDevices, devices)) {
    throw UsageError(
        fmt::format("--device host:{}: expected host:N with N from 1 to {}, or host:N:queue=K with "
                    "K from 1 to {}",
                    argument, kMostDevices, kMostCopies));
  }
  return std::make_unique<HostMachine>(devices, static_cast<std::size_t>(copies));
}

}  // namespace
}  // namespace duet::host

namespace duet {

void register_host_backend() {
  register_backend({"host", "host, or host:N: the CPU as N devices", host::open_host});
}

}  // namespace duet
