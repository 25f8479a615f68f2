// Compares our declaration of a C function with another's, at compile time:
// the same number of parameters, each of the same kind and size.

#ifndef MPC_TEST_CUDA_SIGNATURES_H_
#define MPC_TEST_CUDA_SIGNATURES_H_

#include <tuple>
#include <type_traits>
#include <utility>

namespace mpc::test {

// Pointers match pointers; numbers and enums match those of the same size;
// structs match structs of the same size.
template <class Ours, class Theirs>
constexpr bool are_alike() {
  if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>)
    return std::is_void_v<Ours> && std::is_void_v<Theirs>;
  else if constexpr (std::is_pointer_v<Ours> != std::is_pointer_v<Theirs> ||
                     std::is_class_v<Ours> != std::is_class_v<Theirs> ||
                     std::is_floating_point_v<Ours> !=
                         std::is_floating_point_v<Theirs>)
    return false;
  else
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
}

template <class Function>
struct Signature;

template <class Result, class... Parameters>
struct Signature<Result (*)(Parameters...)> {
  template <class Other>
  static constexpr bool is_like(Other(*)) = delete;

  template <class OtherResult, class... Others>
  static constexpr bool is_like(OtherResult (*)(Others...)) {
    if constexpr (sizeof...(Parameters) != sizeof...(Others))
      return false;
    else
      return are_alike<Result, OtherResult>() &&
             (are_alike<Parameters, Others>() && ...);
  }
};

}  // namespace mpc::test

// Fails to compile unless `pointer`, a member of a function table, can hold
// `function` of the library's header.
#define MPC_CHECK_SIGNATURE(pointer, function)                      \
  static_assert(::mpc::test::Signature<decltype(pointer)>::is_like( \
                    static_cast<decltype(&function)>(nullptr)),     \
                #function " is declared in another way by the library")

#endif  // MPC_TEST_CUDA_SIGNATURES_H_
