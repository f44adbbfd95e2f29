// What a GEMM does to its product before it writes C. GELU is in the tanh form:
// gelu(x) = x sigmoid(2u) = x / 2 (1 + tanh(u)), u = sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks,
// Gimpel: Gaussian Error Linear Units, 2016).
#pragma once

#include <string_view>

namespace duet {

inline constexpr double kGeluSlope = 0.79788456080286535588;  // sqrt(2 / pi)
inline constexpr double kGeluCubic = 0.044715;
inline constexpr double kSteepestGelu = 1.13;  // its largest slope, at sqrt(2)

enum class Epilogue {
  none,           // C = A x B
  gelu,           // aux = A x B, C = gelu(A x B)
  gelu_backward,  // C = (A x B) * gelu'(aux)
};
const char* name(Epilogue epilogue);
Epilogue parse_epilogue(std::string_view text);  // throws UsageError

// An element of C.
double after_epilogue(Epilogue epilogue, double product, double aux);

}  // namespace duet
