// What checks of layers have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device.h"
#include "training/operations/tensor.h"

namespace duet {

inline constexpr double kWeightError = 1e-5;          // of a softmax in fp32
inline constexpr double kActivationError = 1.0 / 64;  // rounded once, and exp() is not exact

inline std::size_t index_of(std::int64_t number) { return static_cast<std::size_t>(number); }

// Blocks. Of a tensor in device memory: a row, and all elements.
std::vector<double> row_of(Device& device, const Tensor& tensor, std::int64_t row);
std::vector<float> values_of(const Tensor& tensor);

// At least 1, as tolerance() expects of its inputs.
double root_mean_square(const std::vector<double>& values);

// The relative error of a rounding to the type.
double rounding_of(DType dtype);

}  // namespace duet
