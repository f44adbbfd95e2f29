// How long allocations are that other processes map.
#pragma once

#include <cstdint>

namespace duet {

// `bytes` rounded up to pages of 64 KiB; less than a page stays as it is. Another process maps an
// allocation that ends within such a page in small pages throughout, and its copy engines are then
// slower. Four H200 that push to each other: 262 GB/s with small pages, 382 GB/s with whole ones.
constexpr std::uint64_t whole_gpu_pages(std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 64 << 10;
  const std::uint64_t past = bytes % kPage;
  return bytes < kPage || past == 0 ? bytes : bytes + (kPage - past);
}

}  // namespace duet
