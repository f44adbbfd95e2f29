// Descriptors of cuDNN's backend API: attributes by their C++ type, errors as exceptions.
#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace duet::cudnn {

// Throws OutOfMemory, Unavailable or Error, by the status, with the library's own words.
// `attempted`: what the call was for.
[[noreturn]] void throw_error(cudnnStatus_t status, const std::string& attempted);

inline void check(cudnnStatus_t status, const char* attempted) {
  if (status != CUDNN_STATUS_SUCCESS) throw_error(status, attempted);
}

// "9.19.0", of the library that is loaded.
std::string version_text();

template <typename Value>
constexpr cudnnBackendAttributeType_t attribute_type() {
  if constexpr (std::is_same_v<Value, std::int64_t>) return CUDNN_TYPE_INT64;
  if constexpr (std::is_same_v<Value, bool>) return CUDNN_TYPE_BOOLEAN;
  if constexpr (std::is_same_v<Value, char>) return CUDNN_TYPE_CHAR;
  if constexpr (std::is_same_v<Value, void*>) return CUDNN_TYPE_VOID_PTR;
  if constexpr (std::is_same_v<Value, cudnnHandle_t>) return CUDNN_TYPE_HANDLE;
  if constexpr (std::is_same_v<Value, cudnnDataType_t>) return CUDNN_TYPE_DATA_TYPE;
  if constexpr (std::is_same_v<Value, cudnnPointwiseMode_t>) return CUDNN_TYPE_POINTWISE_MODE;
  if constexpr (std::is_same_v<Value, cudnnReduceTensorOp_t>) {
    return CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
  }
  if constexpr (std::is_same_v<Value, cudnnBackendHeurMode_t>) return CUDNN_TYPE_HEUR_MODE;
}

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  // Errors name the number that cudnn_graph.h gives the attribute.
  template <typename Value>
  void set(cudnnBackendAttributeName_t name, const Value& value) {
    set(name, attribute_type<Value>(), 1, &value);
  }
  template <typename Value>
  void set(cudnnBackendAttributeName_t name, const std::vector<Value>& values) {
    set(name, attribute_type<Value>(), static_cast<std::int64_t>(values.size()), values.data());
  }
  // cuDNN does not say whether a descriptor keeps those that it refers to: keep them as long.
  void set(cudnnBackendAttributeName_t name, const Descriptor& other);
  void set(cudnnBackendAttributeName_t name, const std::vector<Descriptor>& others);

  void finalize(const char* attempted) { check(cudnnBackendFinalize(get()), attempted); }

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

 private:
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);

  struct Destroy {
    void operator()(void* descriptor) const noexcept {
      static_cast<void>(cudnnBackendDestroyDescriptor(descriptor));
    }
  };
  std::unique_ptr<void, Destroy> descriptor_;
};

}  // namespace duet::cudnn
