// Descriptions of primitives. oneDNN 2 makes them from a description of the
// operation, oneDNN 3 from its arguments, which are the same.

#ifndef MPC_KERNELS_CPU_DNNL_DNNL_DESCRIBE_H_
#define MPC_KERNELS_CPU_DNNL_DNNL_DESCRIBE_H_

#include <dnnl.hpp>

namespace mpc::kernels::cpu {

// Throws dnnl::error if oneDNN has no implementation.
template <typename Primitive, typename... Arguments>
typename Primitive::primitive_desc describe(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
    const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, arguments..., attributes);
#else
  // oneDNN keeps a pointer to the description while it searches.
  const typename Primitive::desc operation(arguments...);
  return typename Primitive::primitive_desc(operation, attributes, engine);
#endif
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
