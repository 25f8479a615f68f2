//===- OnnxWeights.cpp - The weights of ONNX models -----------------------===//

#include "compiler/Import/ReadInitializers.h"
#include "tools/mpc/base/CompilerFiles.h"
#include "tools/mpc/checkpoints/StateDict.h"

#include "onnx/onnx_pb.h"

#include <optional>

using namespace mpc::tool;

static std::optional<mpc_dtype_t> dtypeOfOnnx(int32_t dataType) {
  switch (dataType) {
  case onnx::TensorProto::FLOAT:
    return MPC_DTYPE_F32;
  case onnx::TensorProto::FLOAT16:
    return MPC_DTYPE_F16;
  case onnx::TensorProto::BFLOAT16:
    return MPC_DTYPE_BF16;
  case onnx::TensorProto::DOUBLE:
    return MPC_DTYPE_F64;
  case onnx::TensorProto::INT64:
    return MPC_DTYPE_I64;
  case onnx::TensorProto::INT32:
    return MPC_DTYPE_I32;
  default:
    return std::nullopt;
  }
}

std::vector<NamedTensor> mpc::tool::readOnnxWeights(const std::string &path) {
  std::vector<NamedTensor> tensors;
  check(mpc::readInitializers(path, [&](const InitializerView &view) {
    // No state has another type.
    if (std::optional<mpc_dtype_t> dtype = dtypeOfOnnx(view.dataType))
      tensors.push_back({view.name.str(),
                         *dtype,
                         view.shape.vec(),
                         {view.bytes.begin(), view.bytes.end()}});
  }));
  return tensors;
}
