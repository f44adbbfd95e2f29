// Element types, their names and sizes, and conversion of single values to and from float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace duet {

// tf32 is stored as fp32 and multiplied with 10 mantissa bits; it is a type of its own because
// its rates and tolerances are.
enum class DType { fp32, tf32, fp16, bf16, fp8_e4m3, int8, int32 };

std::string_view name(DType type);
std::size_t size_of(DType type);  // bytes per element

// A type of inputs, which int32 is not. Throws UsageError that lists the known names.
DType parse_dtype(std::string_view text);
std::vector<DType> all_dtypes();

// One element as float and back (round to nearest even; fp8 saturates to +-448).
float load(DType type, const void* element);
void store(DType type, void* element, float value);

}  // namespace duet
