// What is added to a variance or mean square before its root is taken.
#pragma once

namespace duet {

inline constexpr double kLayerNormEps = 1e-5;  // PyTorch's default
inline constexpr double kRmsNormEps = 1e-6;    // Qwen3's

}  // namespace duet
