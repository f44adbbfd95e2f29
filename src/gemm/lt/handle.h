#pragma once

#include <memory>
#include <type_traits>

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// A unique_ptr that destroys a library's object by the library's own function.
template <auto destroy>
struct Destroy {
  template <typename Object>
  void operator()(Object* object) const noexcept {
    static_cast<void>(destroy(object));
  }
};
template <typename Pointer, auto destroy>
using Handle = std::unique_ptr<std::remove_pointer_t<Pointer>, Destroy<destroy>>;

}  // namespace duet::DUET_GPU
