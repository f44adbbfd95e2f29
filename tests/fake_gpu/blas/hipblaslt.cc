// A stand-in for hipBLASLt: products by the CPU, in stream order, with the checks that find wrong
// arguments: layouts against operations, types, workspace, streams of another device than the
// handle's, and memory that the device does not reach. It is of version 0.10.2; its fp8 is FNUZ on
// gfx942, and OCP's on other architectures.
//
// It has four solutions: 11 needs a workspace, 12 and 14 none, and 13 is refused when it is run.
// DUET_STANDIN=no-gemm: its heuristic finds none.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "fake_gpu/blas/product.h"

namespace {

using fake_gpu::Element;

constexpr int kSuccess = 0, kInvalidValue = 3, kExecutionFailed = 5, kNotSupported = 7,
              kNoHandle = 9;
constexpr std::int32_t kNone = 111, kTranspose = 112;
constexpr int kTransA = 0, kTransB = 1, kEpilogue = 2, kScaleA = 5, kScaleB = 6, kAux = 10,
              kAuxLeading = 11;
constexpr int kMaxWorkspace = 1;
constexpr std::uint32_t kGeluAux = 160, kDgelu = 192;
constexpr int kInFp32 = 2, kInTf32 = 6, kInInt32 = 9;
constexpr int kFp32 = 0, kInt32 = 10;

struct Type {
  int number;
  Element element;
};
constexpr Type kTypes[] = {{0, Element::fp32},        {2, Element::fp16},  {3, Element::int8},
                           {10, Element::int32},      {14, Element::bf16}, {28, Element::e4m3},
                           {1000, Element::e4m3_fnuz}};

struct Solution {
  std::int32_t index;
  std::size_t workspace;
  bool runs;
};
constexpr Solution kSolutions[] = {
    {11, 1 << 20, true}, {12, 0, true}, {13, 0, false}, {14, 0, true}};

struct Context {
  int device;
};

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t leading;
};

struct Operation {
  int compute, scale;
  std::int32_t a = kNone, b = kNone;
  std::uint32_t epilogue = 1;
  void* aux = nullptr;
  std::int64_t aux_leading = 0;
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
};

struct Preference {
  std::uint64_t workspace = 0;
};

struct Algorithm {
  std::uint8_t data[16];
  std::size_t max_workspace_bytes;
};

struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

bool is_here(Element type) {
  const bool fnuz = fake_gpu::architecture() == "gfx942";
  return type == Element::e4m3 ? !fnuz : type != Element::e4m3_fnuz || fnuz;
}

// nullptr: the architecture has no such type.
const Type* type_of(int number) {
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const Type& each) { return each.number == number; });
  return found == std::end(kTypes) || !is_here(found->element) ? nullptr : found;
}

// Sets `to` if the value has its size.
template <typename Value>
int copy_value(Value& to, const void* value, std::size_t bytes) {
  if (bytes != sizeof to) return kInvalidValue;
  std::memcpy(&to, value, bytes);
  return kSuccess;
}

struct Layouts {
  const Layout *a, *b, *c, *d;
};

bool types_fit(const Operation& operation, const Layouts& of) {
  for (const Layout* each : {of.a, of.b, of.c, of.d}) {
    if (type_of(each->type) == nullptr) return false;
  }
  const Element in = type_of(of.a->type)->element, out = type_of(of.d->type)->element;
  if (of.a->type != of.b->type || of.c->type != of.d->type) return false;
  if (in == Element::int8) {
    return out == Element::int32 && operation.compute == kInInt32 && operation.scale == kInt32;
  }
  const bool is_fp8 = in == Element::e4m3 || in == Element::e4m3_fnuz;
  const bool sums =
      operation.compute == kInFp32 || (operation.compute == kInTf32 && in == Element::fp32);
  const bool kept = out == in || out == Element::fp32 ||
                    (is_fp8 && (out == Element::bf16 || out == Element::fp16));
  return sums && operation.scale == kFp32 && kept && !(is_fp8 && out == in) && in != Element::int32;
}

// The sides of the product; of what does not fit together m is 0.
fake_gpu::Product sides_of(const Operation& operation, const Layouts& of) {
  fake_gpu::Product product;
  product.a_turned = operation.a == kTranspose;
  product.b_turned = operation.b == kTranspose;
  const std::uint64_t m = product.a_turned ? of.a->columns : of.a->rows,
                      k = product.a_turned ? of.a->rows : of.a->columns,
                      n = product.b_turned ? of.b->rows : of.b->columns;
  bool fits = (product.b_turned ? of.b->columns : of.b->rows) == k;
  for (const Layout* result : {of.c, of.d}) {
    fits = fits && result->rows == m && result->columns == n;
  }
  for (const Layout* each : {of.a, of.b, of.c, of.d}) {
    fits = fits && each->rows > 0 && each->columns > 0 &&
           each->leading >= static_cast<std::int64_t>(each->rows);
  }
  product.n = static_cast<std::int64_t>(n);
  product.k = static_cast<std::int64_t>(k);
  product.m = fits ? static_cast<std::int64_t>(m) : 0;
  return product;
}

fake_gpu::Matrix matrix(const void* data, const Layout& layout) {
  return {static_cast<std::byte*>(const_cast<void*>(data)), type_of(layout.type)->element,
          layout.leading, static_cast<std::int64_t>(layout.columns)};
}

// False if the epilogue is none of those that are known, or lacks its matrix.
bool add_epilogue(const Operation& operation, const Layout& d, fake_gpu::Product& product) {
  if (operation.epilogue == 1) return true;
  if (operation.epilogue != kGeluAux && operation.epilogue != kDgelu) return false;
  if (operation.aux == nullptr || operation.aux_leading < product.m) return false;
  product.after =
      operation.epilogue == kGeluAux ? fake_gpu::After::gelu : fake_gpu::After::gelu_backward;
  product.aux = matrix(operation.aux, d);
  product.aux.leading = operation.aux_leading;
  return true;
}

const Solution* solution_of(const Algorithm& algorithm) {
  std::int32_t index = 0;
  std::memcpy(&index, algorithm.data, sizeof index);
  const auto* const found = std::find_if(std::begin(kSolutions), std::end(kSolutions),
                                         [&](const Solution& each) { return each.index == index; });
  return found == std::end(kSolutions) ? nullptr : found;
}

// Copies the made object out, to be destroyed by the library's own function.
template <typename Object>
int give(Object** to, const Object& made) {
  if (to == nullptr) return kInvalidValue;
  *to = std::make_unique<Object>(made).release();
  return kSuccess;
}

template <typename Object>
int take_back(Object* object) {
  if (object == nullptr) return kInvalidValue;
  const std::unique_ptr<Object> gone(object);
  return kSuccess;
}

}  // namespace

extern "C" {

int hipblasLtGetVersion(Context*, int* version) {
  *version = 1002;
  return kSuccess;
}

int hipblasLtCreate(Context** handle) { return give(handle, Context{fake_gpu::current_device()}); }
int hipblasLtDestroy(Context* handle) { return take_back(handle); }

int hipblasLtMatrixLayoutCreate(Layout** layout, int type, std::uint64_t rows,
                                std::uint64_t columns, std::int64_t leading) {
  return give(layout, Layout{type, rows, columns, leading});
}
int hipblasLtMatrixLayoutDestroy(Layout* layout) { return take_back(layout); }

int hipblasLtMatmulDescCreate(Operation** operation, int compute, int scale) {
  Operation made{};
  made.compute = compute;
  made.scale = scale;
  return give(operation, made);
}
int hipblasLtMatmulDescDestroy(Operation* operation) { return take_back(operation); }

int hipblasLtMatmulDescSetAttribute(Operation* operation, int attribute, const void* value,
                                    std::size_t bytes) {
  switch (attribute) {
    case kTransA:
      return copy_value(operation->a, value, bytes);
    case kTransB:
      return copy_value(operation->b, value, bytes);
    case kEpilogue:
      return copy_value(operation->epilogue, value, bytes);
    case kScaleA:
      return copy_value(operation->a_scale, value, bytes);
    case kScaleB:
      return copy_value(operation->b_scale, value, bytes);
    case kAux:
      return copy_value(operation->aux, value, bytes);
    case kAuxLeading:
      return copy_value(operation->aux_leading, value, bytes);
    default:
      return kInvalidValue;
  }
}

int hipblasLtMatmulPreferenceCreate(Preference** preference) {
  return give(preference, Preference{});
}
int hipblasLtMatmulPreferenceDestroy(Preference* preference) { return take_back(preference); }
int hipblasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value,
                                          std::size_t bytes) {
  return attribute == kMaxWorkspace ? copy_value(preference->workspace, value, bytes)
                                    : kInvalidValue;
}

int hipblasLtMatmulAlgoGetHeuristic(Context* handle, Operation* operation, Layout* a, Layout* b,
                                    Layout* c, Layout* d, Preference* preference, int count,
                                    HeuristicResult* results, int* returned) {
  if (handle == nullptr) return kNoHandle;
  if (count < 1) return kInvalidValue;
  *returned = 0;
  const Layouts of{a, b, c, d};
  if (!types_fit(*operation, of)) return kNotSupported;
  if (sides_of(*operation, of).m == 0) return kInvalidValue;
  if (fake_gpu::is_set("no-gemm")) return kSuccess;
  for (const Solution& solution : kSolutions) {
    if (solution.workspace > preference->workspace || *returned == count) continue;
    HeuristicResult& result = results[(*returned)++];
    result = {};
    std::memcpy(result.algorithm.data, &solution.index, sizeof solution.index);
    result.algorithm.max_workspace_bytes = preference->workspace;
    result.workspace = solution.workspace;
  }
  return kSuccess;
}

int hipblasLtMatmul(Context* handle, Operation* operation, const void* alpha, const void* a,
                    Layout* a_layout, const void* b, Layout* b_layout, const void* beta,
                    const void* c, Layout* c_layout, void* d, Layout* d_layout,
                    const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                    hipStream_t stream) {
  if (handle == nullptr || algorithm == nullptr) return kNoHandle;
  if (handle->device != fake_gpu::current_device()) return kInvalidValue;
  const Layouts of{a_layout, b_layout, c_layout, d_layout};
  const Solution* const solution = solution_of(*algorithm);
  fake_gpu::Product product = sides_of(*operation, of);
  if (solution == nullptr || !types_fit(*operation, of) || product.m == 0) return kInvalidValue;
  if (!solution->runs) return kNotSupported;
  const std::size_t needed = solution->workspace;
  if (std::min(workspace_bytes, algorithm->max_workspace_bytes) < needed ||
      (needed > 0 && !fake_gpu::reaches(handle->device, workspace, needed))) {
    return kInvalidValue;
  }
  product.a = matrix(a, *a_layout);
  product.b = matrix(b, *b_layout);
  product.c = matrix(c, *c_layout);
  product.d = matrix(d, *d_layout);
  const Element scalars = type_of(operation->scale)->element;
  product.alpha = fake_gpu::load(alpha, scalars);
  product.beta = fake_gpu::load(beta, scalars);
  product.scales[0] = operation->a_scale;
  product.scales[1] = operation->b_scale;
  if (!add_epilogue(*operation, *d_layout, product)) return kInvalidValue;
  const hipError_t launched = fake_gpu::multiply(product, "hipBLASLt", stream);
  return launched == hipSuccess ? kSuccess : kExecutionFailed;
}

}  // extern "C"
