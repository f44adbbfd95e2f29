#include "training/cudnn/descriptor.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace duet::cudnn {
namespace {

// What the library says of this thread's last error, as one line.
std::string last_error() {
  char text[512] = "";
  cudnnGetLastErrorString(text, sizeof text);
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

void throw_error(cudnnStatus_t status, const std::string& attempted) {
  const std::string message = fmt::format("cuDNN {}: {}: {} ({})", version_text(), attempted,
                                          cudnnGetErrorString(status), last_error());
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    throw OutOfMemory(message);
  }
  const int category = CUDNN_STATUS_CATEGORY(status);
  if (category == CUDNN_STATUS_NOT_SUPPORTED || status == CUDNN_STATUS_NOT_INITIALIZED ||
      status == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED) {
    throw Unavailable(message);
  }
  throw Error(message);
}

std::string version_text() {
  const std::size_t version = cudnnGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  check(cudnnBackendCreateDescriptor(type, &made), "creating a descriptor");
  descriptor_.reset(made);
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     std::int64_t count, const void* values) {
  const cudnnStatus_t status = cudnnBackendSetAttribute(get(), name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS) {
    throw_error(status, fmt::format("setting attribute {}", static_cast<int>(name)));
  }
}

void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& other) {
  const cudnnBackendDescriptor_t raw = other.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

void Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<Descriptor>& others) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& other : others) raw.push_back(other.get());
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()), raw.data());
}

}  // namespace duet::cudnn
