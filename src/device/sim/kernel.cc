#include "device/sim/kernel.h"

#include "core/error.h"
#include "device/sim/device.h"
#include "device/sim/machine.h"
#include "device/sim/sim.h"

namespace duet::sim {
namespace {

std::vector<MemoryLocation> locations_of(const SimMemory& memory, const std::vector<Span>& spans,
                                         const char* what) {
  std::vector<MemoryLocation> locations;
  for (const Span& span : spans) locations.push_back(memory.require_own(span, what));
  return locations;
}

Semaphore first_word(const SimMemory& memory, const Span& words) {
  const Semaphore semaphore{words.slice(0, sizeof(std::uint64_t))};
  memory.require_semaphore(semaphore);
  return semaphore;
}

SimDevice& simulated(Device& device) {
  auto* own = dynamic_cast<SimDevice*>(&device);
  if (own == nullptr) throw BadArgument(device.info().name + " is not a simulated device");
  return *own;
}

}  // namespace

const LibraryModel& library_of(Device& device) {
  return simulated(device).machine().platform().library;
}

std::unique_ptr<PreparedKernel> prepare_as_library(Device& device, const PeerKernel& kernel,
                                                   const LibraryKernel& library,
                                                   NodeAlgorithm node_algorithm,
                                                   BarrierCounter counter) {
  return std::make_unique<SimKernel>(simulated(device), kernel, library, node_algorithm,
                                     std::move(counter));
}

SimKernel::SimKernel(SimDevice& device, const CollectiveKernel& kernel) : device_(device) {
  std::visit(
      [this](const auto& each) {
        check_kernel(each);
        bind(each);
      },
      kernel);
  cost_ = device_.machine().costs().kernel(locations_, {device_.index(), 0});
}

SimKernel::SimKernel(SimDevice& device, const PeerKernel& kernel, const LibraryKernel& library,
                     NodeAlgorithm node_algorithm, BarrierCounter counter)
    : device_(device), counter_(std::move(counter)) {
  check_kernel(kernel);
  bind(kernel);
  if (counter_.count != nullptr) count_by(counter_.count->span());
  const LibraryModel& model = device_.machine().platform().library;
  locations_.node_algorithm = node_algorithm;
  locations_.latency = model.latency;
  locations_.link_share = model.link_share;
  locations_.unit_copy_rate = library.unit_copy_rate;
  locations_.memory = library.memory;
  locations_.ramp_bytes = model.ramp_bytes;
  locations_.network_share = model.network_share;
  cost_ = device_.machine().costs().kernel(locations_, {device_.index(), 0});
}

void SimKernel::bind(const LocalKernel& kernel) {
  kernel_ = without_blocks(kernel);
  const SimMemory& memory = device_.machine().memory();
  locations_.adds = kernel_.adds && device_.adds_in_flight();
  for (const LocalKernelItem& item : kernel_.items) {
    std::vector<Span> read = item.sources;
    if (locations_.adds && !read.empty()) read.erase(read.begin());
    locations_.items.push_back({locations_of(memory, read, "kernel's source"),
                                locations_of(memory, item.destinations, "kernel's destination"),
                                static_cast<double>(item_bytes(item))});
    for (const Semaphore& semaphore : item.waits) memory.require_semaphore(semaphore);
    for (const Semaphore& semaphore : item.signals) memory.require_semaphore(semaphore);
  }
  reduced_.resize(kernel_.items.size());
  locations_.blocks = kernel_.blocks;
}

void SimKernel::bind(const PeerKernel& kernel) {
  bind(without_peers(kernel));
  opens_ = kernel.opens;
  closes_ = kernel.closes;
  const SimMemory& memory = device_.machine().memory();
  for (const Span& words : kernel.arrivals) {
    arrivals_.push_back(first_word(memory, words));
    locations_.arrivals.push_back(memory.require_own(words, "peer's words"));
  }
  for (const Span& words : kernel.awaits) awaits_.push_back(first_word(memory, words));
}

// Rows of the weight are read once, and from the cache then.
void SimKernel::bind(const NormKernel& kernel) {
  const SimMemory& memory = device_.machine().memory();
  std::vector<Span> read = kernel.sources;
  read.push_back(kernel.norm.residual);
  memory.require_own(kernel.norm.weight, "norm's weight");
  locations_.items.push_back(
      {locations_of(memory, read, "norm's source"),
       locations_of(memory, {kernel.result, kernel.norm.updated}, "norm's result"),
       static_cast<double>(kernel.result.bytes)});
  reduced_.resize(1);
  norm_ = kernel;
}

// Counts barriers on the word. The peers are the devices of the items' spans.
void SimKernel::count_by(const Span& word) {
  count_ = first_word(device_.machine().memory(), word);
  for (const KernelLocations::Item& item : locations_.items) {
    for (const auto* side : {&item.sources, &item.destinations}) {
      for (const MemoryLocation& location : *side) {
        if (location.device != device_.index()) locations_.arrivals.push_back(location);
      }
    }
  }
}

bool SimKernel::arrive() const {
  SimMemory& memory = device_.machine().memory();
  const std::uint64_t count = memory.semaphore(*count_) + 1;
  memory.set_semaphore(*count_, count);
  return count % static_cast<std::uint64_t>(counter_.ranks) == 0;
}

void SimKernel::write_results() {
  if (norm_) return write_norm(*norm_);
  for (std::size_t i = 0; i < kernel_.items.size(); ++i) write_results(i);
}

void SimKernel::write_norm(const NormKernel& kernel) {
  device_.machine().memory().normalise(kernel, reduced_.front());
  for (const Span& to : {kernel.result, kernel.norm.updated}) device_.machine().memory_written(to);
}

void SimKernel::write_results(std::size_t index) {
  SimMemory& memory = device_.machine().memory();
  const KernelItem& item = kernel_.items[index];
  if (item.sources.size() > 1) {
    memory.reduce(item, kernel_.dtype, kernel_.op, reduced_[index]);
  } else {
    for (const Span& to : item.destinations) memory.move(to, item.sources.front());
  }
  for (const Span& to : item.destinations) device_.machine().memory_written(to);
}

}  // namespace duet::sim
