// Binding an exchange to simulated memory, and its contents.
#include "device/sim/exchange.h"

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

std::unique_ptr<PreparedExchange> prepare_as_library(Device& device, const Exchange& exchange,
                                                     const LibraryKernel& kernel, Between between,
                                                     RollCall roll_call) {
  return std::make_unique<SimExchange>(simulated(device), exchange, &kernel, between,
                                       std::move(roll_call));
}

SimExchange::SimExchange(SimDevice& device, const Exchange& exchange, const LibraryKernel* kernel,
                         Between between, RollCall roll_call)
    : device_(device), exchange_(without_blocks(exchange)), roll_call_(std::move(roll_call)) {
  check_exchange(exchange);
  const Memory& memory = device_.machine().memory();
  for (const ExchangeItem& item : exchange_.items) {
    places_.items.push_back({places_of(memory, item.sources, "exchange's source"),
                             places_of(memory, item.destinations, "exchange's destination"),
                             static_cast<double>(item_bytes(item))});
    for (const Semaphore& semaphore : item.after) memory.require_semaphore(semaphore);
    for (const Semaphore& semaphore : item.then) memory.require_semaphore(semaphore);
  }
  for (const Span& words : exchange_.arrivals) {
    arrivals_.push_back(first_word(memory, words));
    places_.arrivals.push_back(memory.require_own(words, "peer's words"));
  }
  if (roll_call_.count != nullptr) count_by(roll_call_.count->span());
  for (const Span& words : exchange_.awaits) awaits_.push_back(first_word(memory, words));
  reduced_.resize(exchange_.items.size());
  places_.blocks = exchange_.blocks;
  if (kernel != nullptr) {
    const LibraryModel& library = device_.machine().platform().library;
    places_.between = between;
    places_.latency = library.latency;
    places_.link_share = library.link_share;
    places_.unit_copy_rate = kernel->unit_copy_rate;
    places_.memory = kernel->memory;
    places_.ramp_bytes = library.ramp_bytes;
    places_.network_share = library.network_share;
  }
  charge_ = device_.machine().costs().exchange(places_, {device_.index(), 0});
}

// Who meets is whom the items reach.
void SimExchange::count_by(const Span& word) {
  count_ = first_word(device_.machine().memory(), word);
  for (const ExchangePlaces::Item& item : places_.items) {
    for (const auto* side : {&item.sources, &item.destinations}) {
      for (const Place& place : *side) {
        if (place.device != device_.index()) places_.arrivals.push_back(place);
      }
    }
  }
}

bool SimExchange::arrive() const {
  Memory& memory = device_.machine().memory();
  const std::uint64_t count = memory.semaphore(*count_) + 1;
  memory.set_semaphore(*count_, count);
  return count % static_cast<std::uint64_t>(roll_call_.ranks) == 0;
}

void SimExchange::leave_behind() {
  for (std::size_t i = 0; i < exchange_.items.size(); ++i) leave_behind(i);
}

void SimExchange::leave_behind(std::size_t index) {
  Memory& memory = device_.machine().memory();
  const ExchangeItem& item = exchange_.items[index];
  if (item.sources.size() > 1) {
    memory.reduce(item, exchange_.dtype, exchange_.op, reduced_[index]);
  } else {
    for (const Span& to : item.destinations) memory.move(to, item.sources.front());
  }
  for (const Span& to : item.destinations) device_.machine().written(to);
}

}  // namespace duet::sim
