#include "replay/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace duet {
namespace {

constexpr std::int64_t kMostSide = std::int64_t{1} << 30;        // of a matrix
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;  // of a matrix or a buffer

struct ElementType {
  const char* scalar;  // c10::toString()
  const char* cpp;     // the name of the C++ type
  std::uint64_t bytes;
  std::optional<DType> multiplied, summed;
};

const std::array<ElementType, 14>& element_types() {
  static const std::array<ElementType, 14> types = {{
      {"Float", "float", 4, DType::fp32, DType::fp32},
      {"Half", "c10::Half", 2, DType::fp16, DType::fp16},
      {"BFloat16", "c10::BFloat16", 2, DType::bf16, DType::bf16},
      {"Float8_e4m3fn", "c10::Float8_e4m3fn", 1, DType::fp8_e4m3, {}},
      {"Float8_e4m3fnuz", "c10::Float8_e4m3fnuz", 1, DType::fp8_e4m3, {}},
      {"Float8_e5m2", "c10::Float8_e5m2", 1, {}, {}},
      {"Char", "signed char", 1, DType::int8, {}},
      {"Byte", "unsigned char", 1, {}, {}},
      {"Bool", "bool", 1, {}, {}},
      {"Short", "short", 2, {}, {}},
      {"Int", "int", 4, {}, DType::int32},
      {"Long", "long", 8, {}, {}},
      {"Long", "long int", 8, {}, {}},
      {"Double", "double", 8, {}, {}},
  }};
  return types;
}

// The element's type of "Tensor(float)" and "GenericList[Tensor(float),Tensor(float)]".
std::string_view bare_type(std::string_view type) {
  const std::size_t tensor = type.find("Tensor(");
  if (tensor == std::string_view::npos) return type;
  type.remove_prefix(tensor + 7);
  return type.substr(0, type.find(')'));
}

const ElementType* element_type(std::string_view type) {
  const std::string_view bare = bare_type(type);
  for (const ElementType& each : element_types()) {
    if (bare == each.scalar || bare == each.cpp) return &each;
  }
  return nullptr;
}

RecordedRest left_out(const std::string& what, std::string_view why) {
  return {fmt::format("{}: {}", what, why)};
}

using Shape = std::vector<std::int64_t>;

struct GemmOperator {
  const char* name;
  std::size_t a, b;  // places of the matrices
};
constexpr std::array<GemmOperator, 8> kGemms = {{{"aten::mm", 0, 1},
                                                 {"aten::addmm", 1, 2},
                                                 {"aten::bmm", 0, 1},
                                                 {"aten::baddbmm", 1, 2},
                                                 {"aten::_scaled_mm", 0, 1},
                                                 {"aten::_int_mm", 0, 1},
                                                 {"aten::matmul", 0, 1},
                                                 {"aten::linear", 0, 1}}};

const GemmOperator* gemm_operator(std::string_view name) {
  for (const GemmOperator& each : kGemms) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

// Whether the last two dimensions are stored the other way round.
bool is_transposed(const OperatorInputs& inputs, std::size_t place) {
  if (place >= inputs.strides.size() || place >= inputs.shapes.size()) return false;
  const Shape& strides = inputs.strides[place];
  const std::size_t rank = strides.size();
  if (rank < 2 || rank != inputs.shapes[place].size()) return false;
  return strides[rank - 1] != 1 && strides[rank - 2] == 1;
}

// The product of all but the last `but` dimensions; 0 where one is none or it is too large.
std::int64_t rows_of(const Shape& shape, std::size_t but) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + but < shape.size(); ++i) {
    if (shape[i] < 1 || shape[i] > kMostSide / rows) return 0;
    rows *= shape[i];
  }
  return rows;
}

bool fits(const GemmProblem& p) {
  const auto within = [](std::int64_t one, std::int64_t other) {
    return one >= 1 && other >= 1 && one <= kMostSide && other <= kMostSide &&
           static_cast<std::uint64_t>(one) * static_cast<std::uint64_t>(other) <= kMostElements;
  };
  return within(p.m, p.k) && within(p.k, p.n) && within(p.m, p.n);
}

// Rows of all batches of A; B's last two dimensions, in a linear those of the weight (N, K).
std::optional<GemmProblem> sides_of(const Shape& a, const Shape& b, bool is_linear) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  GemmProblem p;
  p.m = rows_of(a, 1);
  p.k = a.back();
  p.n = is_linear ? b[b.size() - 2] : b.back();
  const std::int64_t other_k = is_linear ? b.back() : b[b.size() - 2];
  const bool batches = b.size() == 2 || rows_of(b, 2) == rows_of(a, 2);
  if (p.k != other_k || !batches || !fits(p)) return std::nullopt;
  return p;
}

// A and B may both be transposed: then the product is, of the matrices in the other order.
void set_layout(GemmProblem& p, bool a_transposed, bool b_transposed) {
  if (a_transposed && b_transposed) {
    std::swap(p.m, p.n);
    p.layout = Layout::nn;
    return;
  }
  p.layout = a_transposed ? Layout::tn : b_transposed ? Layout::nt : Layout::nn;
}

std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

struct CollectiveName {
  const char* begins;  // letters of the name, of which the first that fits counts
  std::optional<CollectiveKind> kind;
  const char* why = "";  // it is not replayed
};
const std::array<CollectiveName, 12>& collective_names() {
  static const std::array<CollectiveName, 12> names = {
      {{"allreduce", CollectiveKind::all_reduce},
       {"allgather", CollectiveKind::all_gather},
       {"reducescatter", CollectiveKind::reduce_scatter},
       {"alltoall", CollectiveKind::all_to_all},
       {"broadcast", CollectiveKind::broadcast},
       {"gather", CollectiveKind::gather},
       {"scatter", CollectiveKind::scatter},
       {"send", CollectiveKind::send_recv},
       {"recv", {}, "the other end of a send, which is replayed with it"},
       {"reduce", {}, "no engine has it"},
       {"barrier", {}, "it moves no data"},
       {"init", {}, "it moves no data"}}};
  return names;
}

const CollectiveName* collective_name(std::string_view name) {
  const std::string letters = letters_of(name);
  for (const CollectiveName& each : collective_names()) {
    if (letters.rfind(each.begins, 0) == 0) return &each;
  }
  return nullptr;
}

}  // namespace

bool is_gemm_operator(std::string_view name) { return gemm_operator(name) != nullptr; }

std::variant<GemmProblem, RecordedRest> gemm_of(const std::string& name,
                                                const OperatorInputs& inputs) {
  const GemmOperator* const op = gemm_operator(name);
  if (op == nullptr) return left_out(name, "no operator that multiplies");
  if (std::max(op->a, op->b) >= inputs.shapes.size() || inputs.shapes[op->a].empty())
    return left_out(name, "without shapes: expected a trace with record_shapes=True");
  const bool is_linear = name == "aten::linear";
  auto problem = sides_of(inputs.shapes[op->a], inputs.shapes[op->b], is_linear);
  if (!problem) return left_out(name, "shapes that are no matrices, or too large");
  const auto type_at = [&](std::size_t place) {
    return place < inputs.types.size() ? inputs.types[place] : std::string();
  };
  const ElementType* const type = element_type(type_at(op->a));
  if (type == nullptr || !type->multiplied || element_type(type_at(op->b)) != type) {
    return left_out(name, fmt::format("of {} and {}: expected two of Float, Half, BFloat16, "
                                      "Float8_e4m3fn or Char",
                                      bare_type(type_at(op->a)), bare_type(type_at(op->b))));
  }
  problem->dtype = *type->multiplied;
  problem->output = default_output(problem->dtype);
  const bool b_transposed = is_transposed(inputs, op->b) != is_linear;
  const bool fp8 = problem->dtype == DType::fp8_e4m3;  // B is stored by columns
  set_layout(*problem, is_transposed(inputs, op->a), b_transposed || fp8);
  return *problem;
}

std::optional<std::uint64_t> element_bytes(std::string_view type) {
  const ElementType* const known = element_type(type);
  return known == nullptr ? std::nullopt : std::optional(known->bytes);
}

bool is_collective_name(std::string_view name) { return collective_name(name) != nullptr; }

bool is_collective_annotation(std::string_view name) {
  return name.rfind("nccl:", 0) == 0 || name.rfind("gloo:", 0) == 0;
}
std::string annotated_name(const std::string& name) { return name.substr(name.find(':') + 1); }

std::variant<GemmProblem, RecordedCollective, RecordedWait, RecordedRest> collective_of(
    const NamedCollective& called) {
  if (letters_of(called.name) == "wait") return RecordedWait{called.group, called.number};
  const CollectiveName* const named = collective_name(called.name);
  if (named == nullptr) return left_out(called.name, "no collective that is known");
  if (!named->kind) return left_out(called.name, named->why);
  if (called.ranks == 1) return left_out(called.name, "its group is one rank");
  const ElementType* const type = element_type(called.type);
  if (type == nullptr)
    return left_out(called.name, fmt::format("the element type '{}' is not known", called.type));
  if (std::max(called.sent, called.received) == 0) return left_out(called.name, "it has no bytes");
  if (std::max(called.sent, called.received) > kMostElements)
    return left_out(called.name, "its buffers are too large");
  RecordedCollective one;
  one.kind = *named->kind;
  if (type->summed) one.dtype = *type->summed;
  if (reduces(one.kind) && !type->summed) {
    return left_out(called.name, fmt::format("of {}: expected Float, Half, BFloat16 or Int",
                                             bare_type(called.type)));
  }
  one.sent = called.sent * type->bytes;
  one.received = called.received * type->bytes;
  one.ranks = called.ranks;
  one.group = called.group;
  one.number = called.number;
  one.blocking = called.blocking;
  return one;
}

}  // namespace duet
