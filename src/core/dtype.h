#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace duet {

// Element types. tf32 is stored as fp32 and multiplied with 10 mantissa bits; it is a type of its
// own because its rates and tolerances differ. fp8_e5m2 is of gradients in training alone.
enum class DType { fp32, tf32, fp16, bf16, fp8_e4m3, int8, int32, fp8_e5m2 };

std::string_view name(DType type);
std::size_t size_of(DType type);  // bytes per element

// Parses the name of an input type, which int32 and fp8_e5m2 are not; also PyTorch's and NCCL's
// ("bfloat16"), and "fp8" for fp8_e4m3. Throws UsageError, which lists the known names.
DType parse_dtype(std::string_view text);
std::vector<DType> all_dtypes();  // input types and int32

// Convert one element to float, and a float to one element (round to nearest even; fp8 saturates to
// +-448, E5M2 to +-57344).
float load(DType type, const void* element);
void store(DType type, void* element, float value);
// `count` elements, one after the other, each as store() of what load() returns.
void convert(DType from, const void* elements, DType to, void* results, std::size_t count);

}  // namespace duet
