#include "runtime/src/device/kernel_call.h"

namespace mpc::runtime {

kernels::KernelDesc describe_call(const schema::Instruction& instruction) {
  kernels::KernelDesc desc;
  desc.id = static_cast<kernels::KernelId>(instruction.kernel());
  for (const schema::Buffer* buffer : *instruction.operands()) {
    const int64_t* extents = extents_of(buffer->shape());
    desc.operands.push_back({dtype_of(buffer->dtype()),
                             {extents, extents + rank_of(buffer->shape())}});
  }
  if (instruction.attributes())
    desc.attributes.assign(instruction.attributes()->begin(),
                           instruction.attributes()->end());
  return desc;
}

std::vector<int64_t> key_of(const kernels::KernelDesc& desc) {
  std::vector<int64_t> key = {static_cast<int64_t>(desc.id)};
  for (const kernels::TensorDesc& operand : desc.operands) {
    key.push_back(operand.dtype);
    key.push_back(static_cast<int64_t>(operand.shape.size()));
    key.insert(key.end(), operand.shape.begin(), operand.shape.end());
  }
  key.insert(key.end(), desc.attributes.begin(), desc.attributes.end());
  return key;
}

mpc_status_t kernel_error(const schema::Entry& entry,
                          const schema::Instruction& instruction,
                          const std::string& error) {
  return mpc_status_make(MPC_INCOMPATIBLE, "entry '%s', instruction '%s': %s",
                         entry.name()->c_str(),
                         instruction.name() ? instruction.name()->c_str() : "",
                         error.c_str());
}

}  // namespace mpc::runtime
