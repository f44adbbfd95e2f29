// What PyTorch's and NCCL's names of operators, collectives and element types mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "replay/recorded.h"

namespace duet {

// Operators that multiply; of those that stand one within the other the inner one is the GEMM.
bool is_gemm_operator(std::string_view name);

// What a trace tells of an operator's inputs, by their places; lists may be shorter than the
// inputs.
struct OperatorInputs {
  std::vector<std::vector<std::int64_t>> shapes, strides;
  std::vector<std::string> types;  // "float", "c10::BFloat16", "Tensor(float)"
};

// A product of batches is one GEMM of all their rows. RecordedRest tells why it is none.
std::variant<GemmProblem, RecordedRest> gemm_of(const std::string& name,
                                                const OperatorInputs& inputs);

// The bytes of an element; nothing for types that are not known. PyTorch's names, of its scalar
// types ("BFloat16") or of C++ ("c10::BFloat16").
std::optional<std::uint64_t> element_bytes(std::string_view type);

// A collective by the name that a trace gives it ("_allgather_base", "AllGather"), as its elements.
struct NamedCollective {
  std::string name, type;
  std::uint64_t sent = 0, received = 0;  // elements of the rank's buffers; 0: unknown
  int ranks = 0;
  std::string group = {};
  std::optional<std::int64_t> number = std::nullopt;
  bool blocking = false;
};
// RecordedWait where the name is that of a wait; RecordedRest tells why it is not replayed.
std::variant<GemmProblem, RecordedCollective, RecordedWait, RecordedRest> collective_of(
    const NamedCollective& called);
// Whether the name is that of something that communicates.
bool is_collective_name(std::string_view name);

// The operator that describes a collective, and whether a name is that of an annotation around one
// ("nccl:all_reduce"), which tells less.
inline constexpr std::string_view kCommsOperator = "record_param_comms";
bool is_collective_annotation(std::string_view name);
// The name behind the colon.
std::string annotated_name(const std::string& name);
// Before a step's number.
inline constexpr std::string_view kStepMark = "ProfilerStep#";

}  // namespace duet
