// cuDNN's backend descriptors in the fake library.

#ifndef MPC_TEST_CUDA_FAKE_DESCRIPTORS_H_
#define MPC_TEST_CUDA_FAKE_DESCRIPTORS_H_

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn/cudnn.h"

namespace mpc::test {

struct FakeDescriptor {
  struct Attribute {
    int64_t count = 0;
    std::vector<unsigned char> bytes;
  };

  cuda::cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<cuda::cudnnBackendAttributeName_t, Attribute> attributes;
  // Fields of engine configurations, engines and plans.
  size_t engine = 0;

  bool has(cuda::cudnnBackendAttributeName_t name) const {
    return attributes.count(name) != 0;
  }
  template <typename T>
  std::vector<T> all(cuda::cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<T> values(static_cast<size_t>(found->second.count));
    std::memcpy(values.data(), found->second.bytes.data(),
                found->second.bytes.size());
    return values;
  }
  template <typename T>
  T one(cuda::cudnnBackendAttributeName_t name, T otherwise = {}) const {
    const std::vector<T> values = all<T>(name);
    return values.empty() ? otherwise : values[0];
  }
  const FakeDescriptor* part(cuda::cudnnBackendAttributeName_t name) const {
    return one<FakeDescriptor*>(name);
  }
};

// Checks a descriptor like finalizing it does; returns an error, or "" if it is
// valid.
std::string check_descriptor(const FakeDescriptor& descriptor);

// The parts of a convolution graph. Tensors that do not exist are null.
struct FakeConv {
  const FakeDescriptor *operation, *convolution, *x, *w, *y, *bias;
  bool is_fused;  // Another operation computes the result from its sums.
  cuda::cudnnBackendDescriptorType_t kind;
};
FakeConv conv_of(const FakeDescriptor& graph);

// The attribute's type and how many values it takes (0: any number), for this
// type of descriptor; false if it has no such attribute.
bool attribute_of(cuda::cudnnBackendDescriptorType_t type,
                  cuda::cudnnBackendAttributeName_t name,
                  cuda::cudnnBackendAttributeType_t* out_type,
                  int64_t* out_count);
size_t size_of(cuda::cudnnBackendAttributeType_t type);

// Computes a convolution. `addresses` are keyed by the tensors' unique ids.
void compute(const FakeConv& conv, const std::map<int64_t, void*>& addresses);

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_DESCRIPTORS_H_
