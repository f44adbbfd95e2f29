// Whether a function that Duet has declared takes and returns what the vendor's own declaration
// says. Handles and enumerations have other names in Duet's: pointers count as one type, and other
// values by their size and by whether they are floating-point numbers.
#pragma once

#include <cstddef>
#include <type_traits>

namespace fake_gpu {

template <typename Type>
constexpr int passed() {
  using Bare = std::remove_cv_t<Type>;
  if constexpr (std::is_void_v<Bare>)
    return 0;
  else if constexpr (std::is_pointer_v<Bare>)
    return -1;
  else if constexpr (std::is_floating_point_v<Bare>)
    return 1000 + static_cast<int>(sizeof(Bare));
  else
    return static_cast<int>(sizeof(Bare));
}

template <int...>
struct Passed {};

template <typename Function>
struct Signature;
template <typename Result, typename... Parameters>
struct Signature<Result(Parameters...)> {
  using Type = Passed<passed<Result>(), passed<Parameters>()...>;
};

template <typename Ours, typename Theirs>
constexpr bool same_call = std::is_same_v<typename Signature<std::remove_pointer_t<Ours>>::Type,
                                          typename Signature<std::remove_pointer_t<Theirs>>::Type>;

}  // namespace fake_gpu
