#include "device/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "core/module.h"
#include "core/names.h"
#include "device/host/host.h"
#include "device/sim/sim.h"

namespace duet {
namespace {

// Modules register while threads open machines. What has been found stays where it is.
struct Registered {
  std::mutex mutex;
  std::deque<Backend> backends;
};

Registered& registered() {
  static Registered all;
  return all;
}

// The kinds that a build can have, in the order of display. The vendors' kinds are modules.
struct BackendKind {
  const char* name;
  bool is_module;
};
constexpr BackendKind kKinds[] = {{"host", false}, {"cuda", true}, {"hip", true}, {"sim", false}};

void register_built_in() {
  static const bool once = [] {
    register_host_backend();
    register_sim_backend();
    return true;
  }();
  static_cast<void>(once);
}

const Backend* find(const std::string& kind) {
  register_built_in();
  const std::lock_guard<std::mutex> lock(registered().mutex);
  const std::deque<Backend>& all = registered().backends;
  const auto same = [&](const Backend& backend) { return backend.kind == kind; };
  const auto found = std::find_if(all.begin(), all.end(), same);
  return found == all.end() ? nullptr : &*found;
}

// What others call a kind of device, and simulated machines without "sim:"; "" if none was meant.
std::string meant_kind(const std::string& kind) {
  constexpr std::pair<const char*, const char*> kOtherNames[] = {
      {"cpu", "host"}, {"gpu", "cuda"}, {"nvidia", "cuda"}, {"amd", "hip"}, {"rocm", "hip"}};
  for (const auto& [other, own] : kOtherNames) {
    if (kind == other) return own;
  }
  return sim::meant_device(kind);
}

}  // namespace

void register_backend(Backend backend) {
  const std::lock_guard<std::mutex> lock(registered().mutex);
  registered().backends.push_back(std::move(backend));
}

std::vector<BackendState> backends() {
  std::vector<BackendState> states;
  for (const BackendKind& kind : kKinds) {
    BackendState state;
    state.kind = kind.name;
    if (kind.is_module) state.reason = load_module(kind.name).reason;
    if (const Backend* backend = find(kind.name)) {
      state.description = backend->description;
      try {
        state.machine = backend->open("");
        state.available = true;
      } catch (const UsageError&) {
        state.available = true;  // the kind works but needs an argument
      } catch (const Error& error) {
        state.reason = error.what();
      }
    }
    states.push_back(std::move(state));
  }
  return states;
}

std::unique_ptr<Machine> open_machine(const std::string& device) {
  const std::size_t colon = device.find(':');
  const std::string kind = device.substr(0, colon);
  std::vector<std::string_view> known;
  for (const BackendKind& each : kKinds) {
    known.emplace_back(each.name);
    if (kind == each.name && each.is_module && !load_module(kind).loaded) {
      throw UsageError(fmt::format("--device {}: the {} device is not available: {}", device, kind,
                                   load_module(kind).reason));
    }
  }
  const Backend* backend = find(kind);
  if (backend == nullptr) {
    const std::string meant = meant_kind(kind);
    throw UsageError(fmt::format(
        "--device {}: unknown kind '{}'{}: expected one of {}", device, kind,
        meant.empty() ? did_you_mean(kind, known) : fmt::format(" (did you mean '{}'?)", meant),
        fmt::join(known, ", ")));
  }
  try {
    return backend->open(colon == std::string::npos ? "" : device.substr(colon + 1));
  } catch (const Unavailable& error) {
    throw UsageError(fmt::format("--device {}: {}", device, error.what()));
  }
}

}  // namespace duet
