#include "device/sim/kernel.h"

#include "core/error.h"
#include "device/sim/device.h"
#include "device/sim/machine.h"
#include "device/sim/sim.h"

namespace duet::sim {
namespace {

std::vector<Place> places_of(const Memory& memory, const std::vector<Span>& spans,
                             const char* what) {
  std::vector<Place> places;
  for (const Span& span : spans) places.push_back(memory.require_own(span, what));
  return places;
}

Semaphore first_word(const Memory& memory, const Span& words) {
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
                                                   const LibraryKernel& library, Between between,
                                                   RollCall roll_call) {
  return std::make_unique<SimKernel>(simulated(device), kernel, library, between,
                                     std::move(roll_call));
}

SimKernel::SimKernel(SimDevice& device, const CollectiveKernel& kernel) : device_(device) {
  std::visit(
      [this](const auto& each) {
        check_kernel(each);
        bind(each);
      },
      kernel);
  charge_ = device_.machine().costs().kernel(places_, {device_.index(), 0});
}

SimKernel::SimKernel(SimDevice& device, const PeerKernel& kernel, const LibraryKernel& library,
                     Between between, RollCall roll_call)
    : device_(device), roll_call_(std::move(roll_call)) {
  check_kernel(kernel);
  bind(kernel);
  if (roll_call_.count != nullptr) count_by(roll_call_.count->span());
  const LibraryModel& model = device_.machine().platform().library;
  places_.between = between;
  places_.latency = model.latency;
  places_.link_share = model.link_share;
  places_.unit_copy_rate = library.unit_copy_rate;
  places_.memory = library.memory;
  places_.ramp_bytes = model.ramp_bytes;
  places_.network_share = model.network_share;
  charge_ = device_.machine().costs().kernel(places_, {device_.index(), 0});
}

void SimKernel::bind(const LocalKernel& kernel) {
  kernel_ = without_blocks(kernel);
  const Memory& memory = device_.machine().memory();
  for (const LocalKernelItem& item : kernel_.items) {
    places_.items.push_back({places_of(memory, item.sources, "kernel's source"),
                             places_of(memory, item.destinations, "kernel's destination"),
                             static_cast<double>(item_bytes(item))});
    for (const Semaphore& semaphore : item.waits) memory.require_semaphore(semaphore);
    for (const Semaphore& semaphore : item.signals) memory.require_semaphore(semaphore);
  }
  reduced_.resize(kernel_.items.size());
  places_.blocks = kernel_.blocks;
}

void SimKernel::bind(const PeerKernel& kernel) {
  bind(without_peers(kernel));
  opens_ = kernel.opens;
  closes_ = kernel.closes;
  const Memory& memory = device_.machine().memory();
  for (const Span& words : kernel.arrivals) {
    arrivals_.push_back(first_word(memory, words));
    places_.arrivals.push_back(memory.require_own(words, "peer's words"));
  }
  for (const Span& words : kernel.awaits) awaits_.push_back(first_word(memory, words));
}

// The peers are those that the items reach.
void SimKernel::count_by(const Span& word) {
  count_ = first_word(device_.machine().memory(), word);
  for (const KernelPlaces::Item& item : places_.items) {
    for (const auto* side : {&item.sources, &item.destinations}) {
      for (const Place& place : *side) {
        if (place.device != device_.index()) places_.arrivals.push_back(place);
      }
    }
  }
}

bool SimKernel::arrive() const {
  Memory& memory = device_.machine().memory();
  const std::uint64_t count = memory.semaphore(*count_) + 1;
  memory.set_semaphore(*count_, count);
  return count % static_cast<std::uint64_t>(roll_call_.ranks) == 0;
}

void SimKernel::leave_behind() {
  for (std::size_t i = 0; i < kernel_.items.size(); ++i) leave_behind(i);
}

void SimKernel::leave_behind(std::size_t index) {
  Memory& memory = device_.machine().memory();
  const KernelItem& item = kernel_.items[index];
  if (item.sources.size() > 1) {
    memory.reduce(item, kernel_.dtype, kernel_.op, reduced_[index]);
  } else {
    for (const Span& to : item.destinations) memory.move(to, item.sources.front());
  }
  for (const Span& to : item.destinations) device_.machine().written(to);
}

}  // namespace duet::sim
