// A one-node model for every op.
#ifndef MPC_TEST_COMPILER_IMPORT_SMALL_MODELS_H
#define MPC_TEST_COMPILER_IMPORT_SMALL_MODELS_H

#include "compiler/Import/File/ModelFile.h"

#include <vector>

namespace mpc {

/// A model for each small graph of nodes.h.
std::vector<onnx::ModelProto> smallModels();

} // namespace mpc

#endif // MPC_TEST_COMPILER_IMPORT_SMALL_MODELS_H
