// Mutations that try everything that can be wrong with a node of a model.
#ifndef MPC_TEST_COMPILER_IMPORT_HOSTILE_MUTATOR_H
#define MPC_TEST_COMPILER_IMPORT_HOSTILE_MUTATOR_H

#include "compiler/Import/File/ModelFile.h"
#include "test/compiler/Import/importer.h"

#include <random>
#include <set>

namespace mpc::test {

/// Applies mutations to models.
class Mutator {
public:
  void run(const onnx::ModelProto &model);

  std::set<std::string> ops; ///< Ops that occurred in valid models.
  unsigned numModels = 0;

private:
  void check(const onnx::ModelProto &model, const std::string &what);
  void mutate(const onnx::ModelProto &model);
  void mutateExtents(const onnx::ModelProto &model);
  void mutateNode(const onnx::ModelProto &model, int index);
  void mutateAttributes(const onnx::ModelProto &model, int index);
  void mutateInput(const onnx::ModelProto &model, int index);
  void mutateInitializer(const onnx::ModelProto &model, int index);
  void replace(const onnx::ModelProto &model, const std::string &name,
               const google::protobuf::RepeatedField<int64_t> &shape);

  Importer importer;
  /// Whether a mutated model is being mutated a second time.
  bool isSecond = false;
  std::mt19937 random{20240917};
};

} // namespace mpc::test

#endif // MPC_TEST_COMPILER_IMPORT_HOSTILE_MUTATOR_H
