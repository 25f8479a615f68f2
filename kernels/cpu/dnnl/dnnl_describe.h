// Descriptions of primitives. oneDNN 2 makes them from a description of the
// operation, oneDNN 3 from its arguments, which are the same.

#ifndef MPC_KERNELS_CPU_DNNL_DNNL_DESCRIBE_H_
#define MPC_KERNELS_CPU_DNNL_DNNL_DESCRIBE_H_

#include <dnnl.hpp>

namespace mpc::kernels::cpu {

// choose(make) returns one of the descriptions that make() returns, which may
// be advanced to other implementations: oneDNN 2 keeps a pointer to the
// operation for that, so they must not be advanced later. Throws dnnl::error if
// oneDNN has no implementation.
template <typename Primitive, typename Choose, typename... Arguments>
typename Primitive::primitive_desc describe_chosen(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
    Choose choose, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return choose([&] {
    return typename Primitive::primitive_desc(engine, arguments..., attributes);
  });
#else
  const typename Primitive::desc operation(arguments...);
  return choose([&] {
    return typename Primitive::primitive_desc(operation, attributes, engine);
  });
#endif
}

// The first implementation.
template <typename Primitive, typename... Arguments>
typename Primitive::primitive_desc describe(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
    const Arguments&... arguments) {
  return describe_chosen<Primitive>(
      engine, attributes, [](auto make) { return make(); }, arguments...);
}

// The same for a gradient; `hint` describes a forward primitive of the same
// geometry.
template <typename Primitive, typename Hint, typename... Arguments>
typename Primitive::primitive_desc describe_gradient(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
    const Hint& hint, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, arguments..., hint,
                                            attributes);
#else
  const typename Primitive::desc operation(arguments...);
  return
      typename Primitive::primitive_desc(operation, attributes, engine, hint);
#endif
}

// All instructions of the CPU.
#if DNNL_VERSION_MAJOR >= 3
constexpr dnnl::cpu_isa kDnnlAllIsa = dnnl::cpu_isa::isa_default;
#else
constexpr dnnl::cpu_isa kDnnlAllIsa = dnnl::cpu_isa::all;
#endif

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_DNNL_DNNL_DESCRIBE_H_
