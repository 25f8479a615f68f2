//===- ReadInitializers.cpp - Values of a model's initializers ------------===//

#include "compiler/Import/ReadInitializers.h"
#include "compiler/Import/File/TensorData.h"
#include "compiler/Import/Initializers/Signature.h"
#include "compiler/Import/Initializers/Statistics.h"

#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace mpc;

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

/// The error with the place that it is about, unless its message names it.
static Error atPlace(const std::string &place, Error error) {
  return handleErrors(std::move(error), [&](const ModelFileError &failure) {
    bool isNamed = StringRef(failure.message).contains(place);
    return makeModelError(failure.kind,
                          (isNamed ? "" : place + ": ") + failure.message);
  });
}

Error mpc::readInitializers(StringRef path,
                            function_ref<void(const InitializerView &)> visit) {
  Expected<std::shared_ptr<ModelFile>> file = readModelFile(path);
  if (!file)
    return atPlace(path.str(), file.takeError());
  const onnx::GraphProto &graph = (*file)->proto.graph();
  const Statistics statistics(graph, Signature((*file)->proto).isKnown());
  // Statistics may have names of their own.
  StringMap<SmallVector<StringRef, 1>> states;
  for (const auto &[place, state] : statistics.all())
    if (state.name != state.initializer)
      states[state.initializer].push_back(state.name);

  TensorReader reader(*file);
  StringSet<> known;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    if (dataTypeSize(tensor.data_type()) == 0)
      continue;
    if (!known.insert(tensor.name()).second)
      return makeModelError(ModelError::Invalid,
                            path + ": several initializers are called '" +
                                tensor.name() + "'");
    Expected<TensorBytes> data = reader.read(tensor);
    if (!data)
      return atPlace((path + ": initializer '" + tensor.name() + "'").str(),
                     data.takeError());
    InitializerView view = {tensor.name(), dtypeOfOnnx(tensor.data_type()),
                            ArrayRef(tensor.dims().data(), tensor.dims_size()),
                            data->bytes};
    visit(view);
    for (StringRef name : states[tensor.name()]) {
      view.name = name;
      visit(view);
    }
  }
  return Error::success();
}
