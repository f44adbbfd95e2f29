#include "copy/nvbandwidth_set.h"

#include <fmt/format.h>

#include <iterator>

#include "copy/cases.h"
#include "copy/transfer_list.h"
#include "core/error.h"
#include "core/names.h"
#include "core/units.h"

namespace duet {
namespace {

constexpr const char* kSet = "nvbandwidth";

// What a test copies at a time.
enum class Traffic { one, both_ways, every_device };

struct NvbandwidthTest {
  const char* stem;  // the name, without _ce or _sm
  CopyKind kind;
  Issue issue;
  Traffic traffic;
  bool both_ways = false;  // every_device: and back
  bool by_others = false;  // every_device between devices: all others issue the copies, not the one
  bool bare_name = false;  // by copy engines it is the stem alone
};

constexpr CopyKind kToDevice = CopyKind::host_to_device, kToHost = CopyKind::device_to_host,
                   kPeer = CopyKind::peer;
constexpr NvbandwidthTest kTests[] = {
    {"host_to_device_memcpy", kToDevice, Issue::pull, Traffic::one},
    {"device_to_host_memcpy", kToHost, Issue::push, Traffic::one},
    {"host_to_device_bidirectional_memcpy", kToDevice, Issue::pull, Traffic::both_ways},
    {"device_to_host_bidirectional_memcpy", kToHost, Issue::push, Traffic::both_ways},
    {"device_to_device_memcpy_read", kPeer, Issue::pull, Traffic::one},
    {"device_to_device_memcpy_write", kPeer, Issue::push, Traffic::one},
    {"device_to_device_bidirectional_memcpy_read", kPeer, Issue::pull, Traffic::both_ways},
    {"device_to_device_bidirectional_memcpy_write", kPeer, Issue::push, Traffic::both_ways},
    {"all_to_host_memcpy", kToHost, Issue::push, Traffic::every_device},
    {"all_to_host_bidirectional_memcpy", kToHost, Issue::push, Traffic::every_device, true},
    {"host_to_all_memcpy", kToDevice, Issue::pull, Traffic::every_device},
    {"host_to_all_bidirectional_memcpy", kToDevice, Issue::pull, Traffic::every_device, true},
    {"all_to_one_write", kPeer, Issue::push, Traffic::every_device, false, true},
    {"all_to_one_read", kPeer, Issue::pull, Traffic::every_device, false, true},
    {"one_to_all_write", kPeer, Issue::push, Traffic::every_device},
    {"one_to_all_read", kPeer, Issue::pull, Traffic::every_device},
    {"device_local_copy", CopyKind::local, Issue::push, Traffic::one, false, false, true},
};

std::vector<std::string> names_of(const NvbandwidthTest& test) {
  const std::string stem = test.stem;
  return {test.bare_name ? stem : stem + "_ce", stem + "_sm"};
}

const NvbandwidthTest& test_of(const std::string& name) {
  for (const NvbandwidthTest& test : kTests) {
    for (const std::string& each : names_of(test)) {
      if (each == name) return test;
    }
  }
  throw UsageError(fmt::format("no test of nvbandwidth: {}", name));
}

// The transfers of one list.
class Traffics {
 public:
  Traffics(const NvbandwidthTest& test, Executor executor, std::uint64_t bytes)
      : test_(test), executor_(executor), bytes_(bytes) {}

  void peer(int from, int to) {
    add({from, MemoryKind::device}, {to, MemoryKind::device},
        test_.issue == Issue::push ? from : to);
  }
  void with_host(int device, bool to_device) {
    const Endpoint host{device, MemoryKind::pinned}, own{device, MemoryKind::device};
    add(to_device ? host : own, to_device ? own : host, device);
  }
  std::vector<Transfer> take() { return std::move(list_); }

 private:
  void add(const Endpoint& from, const Endpoint& to, int issuer) {
    list_.push_back({from, to, issuer, bytes_, executor_, {}});
  }

  const NvbandwidthTest& test_;
  Executor executor_;
  std::uint64_t bytes_;
  std::vector<Transfer> list_;
};

class NvbandwidthCases {
 public:
  NvbandwidthCases(Machine& machine, const NvbandwidthOptions& options,
                   const std::function<bool()>& stop)
      : machine_(machine), options_(options), stop_(stop) {}

  Benchmark benchmark() {
    for (const std::string& name : options_.tests) add(name);
    return {std::move(cases_),
            [](const std::vector<Finished>&) { return std::vector<Measurement>{}; }};
  }

 private:
  void add(const std::string& name) {
    const NvbandwidthTest& test = test_of(name);
    const Executor executor = ends_with(name, "_sm") ? Executor::kernel : Executor::dma;
    if (test.kind == kPeer && machine_.size() < 2) return;
    const bool by_list = test.traffic == Traffic::every_device ||
                         (test.traffic == Traffic::both_ways && test.kind != kPeer);
    append(by_list ? lists(name, test, executor) : copies(test, executor));
  }

  void append(Benchmark benchmark) {
    std::move(benchmark.cases.begin(), benchmark.cases.end(), std::back_inserter(cases_));
  }

  Benchmark copies(const NvbandwidthTest& test, Executor executor) const {
    CopyOptions copy;
    copy.kinds = {test.kind};
    copy.executors = {executor};
    copy.issues = {test.issue};
    copy.patterns = {Pattern::pair};
    copy.host_memory = {MemoryKind::pinned};
    copy.directions = {test.traffic == Traffic::both_ways};
    copy.sizes = {options_.bytes};
    copy.matrix_bytes = options_.bytes;
    copy.each_device = true;
    copy.mode = options_.mode;
    copy.device_name = options_.device_name;
    return copy_benchmark(machine_, copy, stop_);
  }

  Benchmark lists(const std::string& name, const NvbandwidthTest& test, Executor executor) const {
    TransferListOptions options;
    options.mode = options_.mode;
    options.device_name = options_.device_name;
    const bool together = test.traffic == Traffic::every_device && test.kind != kPeer;
    for (int device = 0; device < (together ? 1 : machine_.size()); ++device) {
      Traffics traffics(test, executor, options_.bytes);
      for (int other = 0; other < machine_.size(); ++other) {
        if (test.kind == kPeer) {
          if (other == device) continue;
          // Who reads has the data then, who writes had them: all_to_one_read copies from the one.
          const bool into_one = test.by_others == (test.issue == Issue::push);
          traffics.peer(into_one ? other : device, into_one ? device : other);
        } else if (together || other == device) {
          add_host(traffics, test, other);
        }
      }
      options.lists.push_back(
          {together ? name : fmt::format("{} {}", name, device), traffics.take()});
    }
    return transfer_list_benchmark(machine_, options, stop_);
  }

  static void add_host(Traffics& traffics, const NvbandwidthTest& test, int device) {
    const bool to_device = test.kind == kToDevice;
    traffics.with_host(device, to_device);
    if (test.both_ways || test.traffic == Traffic::both_ways) {
      traffics.with_host(device, !to_device);
    }
  }

  Machine& machine_;
  const NvbandwidthOptions& options_;
  const std::function<bool()>& stop_;
  std::vector<Case> cases_;
};

// Why Duet does not have a test that nvbandwidth has; "" for any other name.
std::string why_absent(const std::string& name) {
  struct Absent {
    const char* part;  // of the names of such tests
    const char* why;
  };
  constexpr Absent kAbsent[] = {
      {"_latency_", "it chases pointers, and Duet measures copies"},
      {"multinode_",
       "it copies between nodes, and duet copy within one (duet fabric and "
       "collective communicate between nodes)"},
      {"_tma", "Duet's copy kernels do not use the TMA unit"},
      {"device_local_read_sm", "it does not copy, it only reads"},
      {"device_local_write_sm", "it does not copy, it only writes"}};
  for (const Absent& absent : kAbsent) {
    if (name.find(absent.part) != std::string::npos) return absent.why;
  }
  return "";
}

}  // namespace

std::vector<std::string> nvbandwidth_tests(const std::string& set) {
  std::vector<std::string> known;
  for (const NvbandwidthTest& test : kTests) {
    for (const std::string& name : names_of(test)) known.push_back(name);
  }
  if (set == kSet) return known;
  for (const std::string& name : known) {
    if (name == set) return {name};
  }
  const std::string why = why_absent(set);
  if (!why.empty()) {
    throw UsageError(
        fmt::format("--set {}: Duet does not have this test of nvbandwidth: {}", set, why));
  }
  known.insert(known.begin(), kSet);
  throw UsageError(
      fmt::format("--set {}{}: expected nvbandwidth or one of its tests within a node that copy "
                  "(host_to_device_memcpy_ce ...)",
                  set, did_you_mean(set, known)));
}

Benchmark nvbandwidth_benchmark(Machine& machine, const NvbandwidthOptions& options,
                                const std::function<bool()>& stop) {
  return NvbandwidthCases(machine, options, stop).benchmark();
}

}  // namespace duet
