//===- freeze_test.cpp - Frozen parameters --------------------------------===//
//
// For each kind of parameter and each precision: the package loads and trains,
// frozen parameters keep their bits and cost less memory, checkpoints can be
// used in other precisions, and the exported model has every initializer.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/harness.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Export/Export.h"
#include "compiler/Import/Import.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

namespace mpc::test {
namespace {

const char *const kTied = R"(<ir_version: 9, opset_import: ["" : 20]>
tied (int64[4, 8] x, float[64, 48] table, float[48, 48] mix)
  => (float[32, 64] y)
<int64[2] rows = {-1, 48}>
{
  e = Gather (table, x)
  f = Reshape (e, rows)
  h = MatMul (f, mix)
  g = Tanh (h)
  t = Transpose <perm = [1, 0]> (table)
  y = MatMul (g, t)
})";

/// The tied model with numbers in its tensors.
std::string tiedModel(const Folder &folder) {
  auto numbers = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += (i ? ", " : " = {") + std::to_string((i * 37 % 101 - 50) / 300.0);
    return text + "}";
  };
  std::string text = kTied;
  text.insert(text.find("table") + 5, numbers(64 * 48));
  text.insert(text.find("mix", text.find('=')) + 3, numbers(48 * 48));
  return writeText(folder, "tied.onnxtxt", text);
}

/// Values by name.
using Tensors = std::map<std::string, std::vector<float>>;

/// All tensors that a model trains or could train.
Tensors readModel(const std::string &path) {
  mlir::MLIRContext context;
  ImportOptions options;
  ImportResult result = importOnnx(path, options, context);
  Tensors tensors;
  if (!result.module) {
    ADD_FAILURE() << "cannot read " << path;
    return tensors;
  }
  for (auto state : result.module->getOps<train::StateOp>()) {
    mlir::ElementsAttr value = state.getInitialValueAttr();
    if (!value.getElementType().isF32())
      continue;
    std::vector<float> &into = tensors[state.getSymName().str()];
    into.resize(value.getNumElements());
    if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(value)) {
      std::copy(dense.value_begin<float>(), dense.value_end<float>(),
                into.begin());
      continue;
    }
    auto resource = mlir::cast<mlir::DenseResourceElementsAttr>(value);
    llvm::ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    std::memcpy(into.data(), data.data(), data.size());
  }
  return tensors;
}

struct FreezeCase {
  const char *model, *kind;
  const char *freeze;   ///< Regex.
  const char *expected; ///< Regex of frozen tensors; null: the same.
};

const FreezeCase kCases[] = {
    {"mlp", "linearWeight", "fc1.weight", nullptr},
    {"mlp", "bias", "fc1.bias", nullptr},
    {"mlp", "norm", "norm", nullptr},
    {"mlp", "head", "fc2", nullptr},
    {"mlp", "allButHead", "fc1|norm", nullptr},
    {"cnn", "convWeight", "conv", nullptr},
    {"cnn", "normScale", "bn.*weight", nullptr},
    {"cnn", "normBias", "bn.*bias", nullptr},
    {"cnn", "statistics", "running_mean", "running"},
    {"cnn", "normScaleAndBias", "bn[23].(weight|bias)", "bn[23]"},
    {"cnn", "head", "fc", nullptr},
    {"cnn", "allButHead", "conv|bn", nullptr},
    {"gpt", "linearWeight", "up.weight", nullptr},
    {"gpt", "bias", "bias", nullptr},
    {"gpt", "embedding", "tokens|positions", nullptr},
    {"gpt", "normScale", "(before|between|norm).weight", nullptr},
    {"gpt", "head", "head.weight", nullptr},
    {"gpt", "allButHead", "^[^h]", nullptr},
    {"tied", "embeddingAndHead", "table", nullptr},
};

std::ostream &operator<<(std::ostream &stream, const FreezeCase &which) {
  return stream << which.model << ", " << which.kind;
}

class Freeze : public testing::TestWithParam<FreezeCase> {
protected:
  Freeze() {
    std::string name = GetParam().model;
    options.model = name == "tied"  ? tiedModel(folder)
                    : name == "gpt" ? MPC_GOLDENS
                        "/transformers/plain-script.onnx"
                                    : MPC_DIGITS "/" + name + ".onnx";
    if (name == "mlp" || name == "cnn")
      options.batches = {16};
    options.loss = "softmax-cross-entropy";
    original = readModel(options.model);
    std::regex stays(GetParam().expected ? GetParam().expected
                                         : GetParam().freeze);
    for (const auto &[tensor, values] : original)
      if (std::regex_search(tensor, stays)) {
        frozen.push_back(tensor);
        frozenElements += values.size();
      }
  }

  ProgramPtr compileFor(const char *precision, bool freezes) {
    CompileOptions wanted = options;
    wanted.precision = precision;
    if (freezes)
      wanted.freeze = {GetParam().freeze};
    return compile(wanted, folder);
  }

  /// Random inputs of a training step.
  static std::vector<Values> batch(const ProgramPtr &program, int number) {
    Random random(number);
    std::vector<Values> inputs;
    for (size_t i = 0; i < mpc_program_num_inputs(program.get(), "step"); ++i) {
      mpc_binding_info_t info = {};
      info.struct_size = sizeof(info);
      isOk(mpc_program_input(program.get(), "step", i, &info));
      size_t count = 1;
      for (uint32_t dim = 0; dim < info.rank; ++dim)
        count *= info.shape[dim];
      Values values(count);
      for (double &value : values)
        value = info.has_range ? std::floor(info.high * random.next())
                               : float(random.next());
      for (double &value : values) // Indices into a table may be negative.
        value = std::max(value, 0.0);
      inputs.push_back(values);
    }
    return inputs;
  }

  static void train(Session &session, const ProgramPtr &program, int first,
                    int last) {
    for (int i = first; i < last; ++i)
      EXPECT_TRUE(std::isfinite(session.step(batch(program, i)).loss));
  }

  void checkStates(Session &session, const ProgramPtr &program);
  void checkMemory(const ProgramPtr &program, const char *precision);
  void checkExport(Session &session);

  Folder folder;
  CompileOptions options;
  Tensors original;
  std::vector<std::string> frozen;
  size_t frozenElements = 0;
};

uint64_t stateBytes(const ProgramPtr &program) {
  mpc_memory_info_t memory = {};
  memory.struct_size = sizeof(memory);
  mpc_program_memory(program.get(), &memory);
  return memory.state_bytes;
}

/// Three steps change all parameters except the frozen ones.
void Freeze::checkStates(Session &session, const ProgramPtr &program) {
  auto before = session.snapshot();
  train(session, program, 0, 3);
  auto after = session.snapshot();
  std::vector<std::string> parameters = session.parameters();
  ASSERT_FALSE(parameters.empty());
  for (const std::string &name : parameters)
    EXPECT_NE(after[name], before[name]) << name;
  for (const std::string &name : frozen) {
    EXPECT_TRUE(session.has(name)) << name;
    EXPECT_EQ(after[name], before[name]) << name;
    EXPECT_FALSE(session.has("adam.first_moment/" + name)) << name;
  }
}

/// Frozen parameters have no moments, and only the copy that is read. Packs
/// have whole rows of 1024 elements, so small savings may vanish.
void Freeze::checkMemory(const ProgramPtr &program, const char *precision) {
  if (frozenElements < 2048)
    return;
  static std::map<std::pair<std::string, std::string>, uint64_t> unfrozen;
  auto [entry, isNew] = unfrozen.try_emplace({GetParam().model, precision});
  if (isNew)
    entry->second = stateBytes(compileFor(precision, false));
  EXPECT_LT(stateBytes(program), entry->second);
}

/// The exported model has the original frozen initializers, bit by bit, and the
/// trained values of the others.
void Freeze::checkExport(Session &session) {
  std::map<std::string, std::vector<float>> values;
  TrainedStates states;
  for (const std::string &name : session.parameters()) {
    Values read = session.read(name);
    values[name].assign(read.begin(), read.end());
    states[name] = values[name];
  }
  std::string path = folder.path("exported.onnx");
  llvm::Error error = exportTrained(options.model, states, path);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  Tensors exported = readModel(path);
  EXPECT_EQ(exported.size(), original.size());
  for (const std::string &name : frozen)
    EXPECT_EQ(exported[name], original[name]) << name;
  for (const auto &[name, trained] : values)
    EXPECT_EQ(exported[name], trained) << name;
}

TEST_P(Freeze, KeepsItsBitsInEveryPrecision) {
  ASSERT_FALSE(frozen.empty());
  std::string last;
  for (const char *precision : {"fp16", "bf16", "fp32"}) {
    SCOPED_TRACE(precision);
    ProgramPtr program = compileFor(precision, true);
    ASSERT_TRUE(program);
    Session session(program);
    checkStates(session, program);
    checkMemory(program, precision);
    checkExport(session);

    std::string path = folder.path(std::string("step-") + precision);
    ASSERT_TRUE(
        isOk(mpc_session_save_checkpoint(session.handle(), path.c_str())));
    Session resumed(program);
    ASSERT_TRUE(
        isOk(mpc_session_load_checkpoint(resumed.handle(), path.c_str())));
    train(session, program, 3, 5);
    train(resumed, program, 3, 5);
    EXPECT_EQ(resumed.snapshot(), session.snapshot());
    // Checkpoints do not depend on the precision.
    if (!last.empty()) {
      EXPECT_TRUE(
          isOk(mpc_session_load_checkpoint(resumed.handle(), last.c_str())));
    }
    last = path;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Freeze, testing::ValuesIn(kCases),
                         [](const auto &info) {
                           return std::string(info.param.model) + "_" +
                                  info.param.kind;
                         });

} // namespace
} // namespace mpc::test
