#include "soak/menu.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/error.h"

namespace duet {
namespace {

constexpr int kMostProducts = 16;  // of a set

GemmProblem product(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype,
                    Layout layout = Layout::nn) {
  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.dtype = dtype;
  problem.output = default_output(dtype);
  problem.layout = layout;
  return problem;
}

// A GPU on which the products that draw its full power, and all else, have room.
bool is_large(const DeviceInfo& info) { return info.is_gpu() && info.memory_bytes > 4 * kSoakGiB; }

// Of a CPU short, and of a simulated device small enough to be computed.
std::vector<GemmProblem> products_for(const DeviceInfo& info) {
  if (info.is_cpu) {
    return {product(512, 512, 512, DType::fp32), product(384, 768, 512, DType::fp32, Layout::nt),
            product(640, 512, 384, DType::fp32, Layout::tn)};
  }
  if (!is_large(info)) {
    return {product(128, 128, 128, DType::bf16), product(96, 160, 128, DType::bf16, Layout::nt),
            product(160, 96, 64, DType::fp16), product(64, 128, 192, DType::fp32)};
  }
  return {product(8192, 8192, 8192, DType::bf16),
          product(16384, 8192, 4096, DType::bf16, Layout::nt),
          product(8192, 8192, 16384, DType::bf16, Layout::tn),
          product(8192, 16384, 8192, DType::fp16),
          product(8192, 8192, 8192, DType::tf32),
          product(8192, 8192, 8192, DType::int8),
          product(4096, 4096, 4096, DType::fp32)};
}

std::uint64_t product_bytes(const GemmProblem& problem) {
  return static_cast<std::uint64_t>(problem.m * problem.n) * size_of(problem.output);
}

// By the vendor's library, by copy engines and by Duet's kernels, as far as the machine has them.
std::vector<SoakCollective> possible_collectives(Machine& machine, OverlapEngines& engines,
                                                 const SoakMenu& menu) {
  const std::string vendor = overlap_engine_names(machine.device(0).info().kind).vendor;
  std::vector<SoakCollective> possible;
  for (const std::string& engine : std::set<std::string>{vendor, "dma", "kernel"}) {
    for (const CollectiveKind kind :
         {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce,
          CollectiveKind::all_to_all, CollectiveKind::broadcast, CollectiveKind::send_recv}) {
      for (const DType dtype : {DType::int8, DType::bf16, DType::fp32}) {
        if (reduces(kind) == (dtype == DType::int8)) continue;
        Collective collective;
        collective.kind = kind;
        collective.dtype = dtype;
        collective.count =
            std::max<std::uint64_t>(1, count_for(kind, dtype, menu.least_bytes, menu.ranks));
        try {
          engines.session(engine, collective, false);
          possible.push_back({engine, kind, dtype});
        } catch (const Unavailable&) {
          // The machine does not have the engine, or the engine not the collective.
        }
      }
    }
  }
  return possible;
}

}  // namespace

SoakMenu soak_menu(Machine& machine, OverlapEngines& engines) {
  SoakMenu menu;
  Device& device = machine.device(0);
  const DeviceInfo& info = device.info();
  menu.ranks = machine.size();
  menu.least_bytes = is_large(info) ? 32 * kSoakMiB : info.is_cpu ? kSoakMiB / 4 : kSoakMiB / 64;
  menu.most_bytes =
      is_large(info) ? std::clamp<std::uint64_t>(info.memory_bytes / 128, 32 * kSoakMiB, kSoakGiB)
                     : 16 * menu.least_bytes;
  std::uint64_t largest = 1;
  for (const GemmProblem& problem : products_for(info)) {
    if (engines.gemm().unsupported(device, problem)) continue;
    menu.gemms.push_back(problem);
    largest = std::max(largest, product_bytes(problem));
  }
  if (menu.gemms.empty()) {
    throw Unavailable(fmt::format("{}: {} multiplies none of a soak's types", machine.name(),
                                  engines.gemm().name()));
  }
  const std::uint64_t fitting =
      is_large(info) ? info.memory_bytes / 12 / (2 * largest) : std::uint64_t{kMostProducts};
  menu.most_products = static_cast<int>(std::clamp<std::uint64_t>(fitting, 1, kMostProducts));
  menu.executors = {Executor::dma};
  bool reached = true;
  for (int from = 0; from < menu.ranks; ++from) {
    for (int to = 0; to < menu.ranks; ++to) {
      reached = reached && (from == to || machine.link(from, to).peer_access);
    }
  }
  if (reached) menu.executors.push_back(Executor::kernel);
  if (menu.ranks > 1) menu.collectives = possible_collectives(machine, engines, menu);
  return menu;
}

}  // namespace duet
