#include "gemm/epilogue.h"

#include <cmath>

#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<Epilogue> kEpilogues[] = {
    {Epilogue::none, "none"}, {Epilogue::gelu, "gelu"}, {Epilogue::gelu_backward, "gelu_backward"}};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-2 * kGeluSlope * (x + kGeluCubic * x * x * x)));
}

}  // namespace

const char* name(Epilogue epilogue) { return name_of(kEpilogues, epilogue); }

Epilogue parse_epilogue(std::string_view text) {
  return parse_name(kEpilogues, "unknown epilogue", text);
}

double after_epilogue(Epilogue epilogue, double product, double aux) {
  if (epilogue == Epilogue::none) return product;
  if (epilogue == Epilogue::gelu) return product * sigmoid(product);
  const double s = sigmoid(aux);
  const double slope = 2 * kGeluSlope * (1 + 3 * kGeluCubic * aux * aux);
  return product * (s + aux * s * (1 - s) * slope);
}

}  // namespace duet
