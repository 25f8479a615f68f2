// Graphs of products, pointwise operations, reductions and reshapes, computed
// one operation after the other from what the descriptors say.

#ifndef MPC_TEST_CUDA_FAKE_GRAPH_H_
#define MPC_TEST_CUDA_FAKE_GRAPH_H_

#include <map>

#include "test/cuda/fake/fake_descriptors.h"

namespace mpc::test {

// True if the graph begins with a product or has one further on: attention.
bool has_product(const FakeDescriptor& graph);

// The tensors that are passed by value, with what the host has at `addresses`.
std::map<int64_t, float> values_of_scalars(
    const FakeDescriptor& graph, const std::map<int64_t, void*>& addresses);

void compute(const FakeDescriptor& graph,
             const std::map<int64_t, void*>& addresses,
             const std::map<int64_t, float>& scalars);

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_GRAPH_H_
