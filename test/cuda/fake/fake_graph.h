// Executes graphs of products, pointwise operations, reductions and reshapes,
// one operation after the other, according to their descriptors.

#ifndef MPC_TEST_CUDA_FAKE_GRAPH_H_
#define MPC_TEST_CUDA_FAKE_GRAPH_H_

#include <map>

#include "test/cuda/fake/fake_descriptors.h"

namespace mpc::test {

// True if the graph has a product, which means that it is attention.
bool has_product(const FakeDescriptor& graph);

// The values of tensors that are passed by value, read from host `addresses`.
std::map<int64_t, float> values_of_scalars(
    const FakeDescriptor& graph, const std::map<int64_t, void*>& addresses);

void compute(const FakeDescriptor& graph,
             const std::map<int64_t, void*>& addresses,
             const std::map<int64_t, float>& scalars);

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_GRAPH_H_
