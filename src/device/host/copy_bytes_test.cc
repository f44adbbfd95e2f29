#include "device/host/copy_bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace duet::host {
namespace {

TEST(CopyBytes, MovesWhatItShouldAndNothingElse) {
  constexpr std::size_t kRoom = 1024;
  std::vector<std::byte> from(kRoom);
  for (std::size_t i = 0; i < kRoom; ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (const Through through : {Through::caches, Through::memory}) {
    for (const std::size_t bytes : {0, 1, 63, 64, 65, 127, 200, 512}) {
      for (const std::size_t shift : {0, 1, 16, 63}) {
        std::vector<std::byte> to(kRoom, std::byte{0});
        copy_bytes(to.data() + shift + 64, from.data() + 3 * shift, bytes, through);
        for (std::size_t i = 0; i < kRoom; ++i) {
          const bool inside = i >= shift + 64 && i < shift + 64 + bytes;
          ASSERT_EQ(to[i], inside ? from[i - shift - 64 + 3 * shift] : std::byte{0}) << i;
        }
      }
    }
  }
}

TEST(CopyBytes, OfEmptyBuffersAreNothing) {
  copy_bytes(nullptr, nullptr, 0, Through::caches);
  copy_bytes(nullptr, nullptr, 0, Through::memory);
}

}  // namespace
}  // namespace duet::host
