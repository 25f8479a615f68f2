// Checks OPS.md: the op table, and facts determined from the smallest nodes.
// To regenerate it: MPC_WRITE_OPS=compiler/Import/OPS.md mpc-import-test
// --gtest_filter=OpList.*

#include "importer.h"
#include "op_formats.h"
#include "small_models.h"

#include "compiler/Dialect/Amp/IR/ClassName.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Transforms/Differentiate.h"
#include "compiler/Import/Check/CheckModel.h"
#include "compiler/Import/Graph/ImportedNode.h"
#include "compiler/Import/Graph/OpTable.h"
#include "compiler/Import/Normalize/NormalizeModel.h"
#include "compiler/Support/Locations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

using namespace mpc;
using onnx::TensorProto;

namespace {

/// Facts about an op in addition to its row.
struct Facts {
  std::set<std::string> types, classes, kernels;
  OpFormats formats;
  bool hasGradient = false;
};

constexpr std::pair<int, const char *> kTypes[] = {
    {TensorProto::FLOAT, "float"},
    {TensorProto::INT64, "i64"},
    {TensorProto::INT32, "i32"},
    {TensorProto::BOOL, "bool"}};

/// Ops whose gradients differ from PyTorch's. test/gradients/special has a row
/// for each.
constexpr std::pair<const char *, const char *> kExceptions[] = {
    {"Clip", "if learned bounds are equal, each receives the gradient of the "
             "elements it cuts off; in PyTorch's `clamp` the lower one "
             "receives none"},
    {"Clip",
     "with bounds 0 and 6, elements equal to a bound receive no gradient, as "
     "in PyTorch's `relu6`; exporters write `clamp(0, 6)` as the same node"},
    {"Clip", "with other constant bounds, elements equal to a bound receive "
             "the gradient, as in PyTorch's `clamp`; exporters write "
             "`hardtanh`, which stops it, as the same node"},
    {"Max", "elements equal to a constant number receive the whole gradient, "
            "as in PyTorch's `clamp`; exporters write `maximum`, which halves "
            "it, as the same node"},
    {"Min", "elements equal to a constant number receive the whole gradient, "
            "as in PyTorch's `clamp`; exporters write `minimum`, which halves "
            "it, as the same node"},
    {"ReduceMax",
     "the greatest elements of a row share its gradient equally, as in "
     "PyTorch's `amax`; exporters write `max(dim)`, which gives all of it to "
     "one of them, as the same node, and ReduceMin likewise"},
    {"LpNormalization", "a row of zeros stays zero and receives the gradient "
                        "of the output unchanged; PyTorch's `normalize` "
                        "multiplies it by 1e12"},
    {"Softmax", "a row of minus infinities gives zeros and receives zero "
                "gradients; PyTorch gives NaN for both"},
};

class OpList : public testing::Test {
protected:
  void learn(const onnx::ModelProto &model);
  std::string text() const;

  std::map<std::string, Facts> facts;

private:
  void learnTypes(const onnx::ModelProto &model, Facts &of);
  static void learnOps(mlir::func::FuncOp predict, const std::string &op,
                       Facts &of);
  static bool hasGradient(mlir::func::FuncOp predict);

  Importer importer;
};

/// Whether the result depends on an input through float values and ops with
/// gradients.
bool OpList::hasGradient(mlir::func::FuncOp predict) {
  mlir::OpBuilder builder(predict.front().getTerminator());
  llvm::SmallVector<mlir::Value> ys, dys;
  for (mlir::Value result : predict.front().getTerminator()->getOperands()) {
    auto type = mlir::cast<mlir::RankedTensorType>(result.getType());
    if (!mlir::isa<mlir::FloatType>(type.getElementType()))
      continue;
    ys.push_back(result);
    dys.push_back(mpc::train::ConstantOp::create(
        builder, builder.getUnknownLoc(),
        mlir::DenseElementsAttr::get(
            type, builder.getFloatAttr(type.getElementType(), 1))));
  }
  return llvm::any_of(predict.getArguments(), [&](mlir::Value input) {
    auto gradient = mpc::train::differentiate(builder, ys, dys, input,
                                              builder.getUnknownLoc(), "");
    return mlir::succeeded(gradient) && gradient->front();
  });
}

void OpList::learnOps(mlir::func::FuncOp predict, const std::string &op,
                      Facts &of) {
  predict.walk([&](mlir::Operation *made) {
    auto precision = mlir::dyn_cast<amp::PrecisionOpInterface>(made);
    if (nodeType(made->getLoc()) != op || !precision ||
        mlir::isa<train::ConstantOp>(made))
      return;
    of.classes.insert(
        amp::className(precision.getPrecisionClass(nullptr)).str());
    if (auto kernel = mlir::dyn_cast<train::KernelOpInterface>(made))
      of.kernels.insert(kernel.getKernelName().str());
    else if (mlir::isa<train::LinalgLoweringOpInterface>(made))
      of.kernels.insert("generated");
    else
      return;
    of.formats.learn(precision);
  });
}

/// Determines which types the float inputs may have; without float inputs,
/// records the types of the inputs.
void OpList::learnTypes(const onnx::ModelProto &model, Facts &of) {
  bool isOfFloats = false;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    isOfFloats |= input.type().tensor_type().elem_type() == TensorProto::FLOAT;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    for (auto [type, name] : kTypes)
      if (!isOfFloats && input.type().tensor_type().elem_type() == type)
        of.types.insert(name);
  for (auto [type, name] : kTypes) {
    onnx::ModelProto other = model;
    bool hasFloats = false, isWhole = true;
    for (onnx::ValueInfoProto &input :
         *other.mutable_graph()->mutable_input()) {
      auto *tensor = input.mutable_type()->mutable_tensor_type();
      bool isFloat = tensor->elem_type() == TensorProto::FLOAT;
      hasFloats |= isFloat;
      if (isFloat)
        tensor->set_elem_type(type);
    }
    for (const TensorProto &tensor : other.graph().initializer())
      isWhole &= tensor.data_type() != TensorProto::FLOAT;
    if (!hasFloats || (type != TensorProto::FLOAT && !isWhole))
      continue;
    for (onnx::ValueInfoProto &output :
         *other.mutable_graph()->mutable_output())
      output.clear_type();
    if (importer.run(other.SerializeAsString()).module)
      of.types.insert(name);
  }
}

void OpList::learn(const onnx::ModelProto &model) {
  if (model.opset_import(0).version() != kNewestOpset)
    return;
  std::set<std::string> ops;
  for (const onnx::NodeProto &node : model.graph().node())
    ops.insert(qualifiedOp(node));
  bool isAlone = model.graph().node_size() == 1;
  for (const std::string &op : ops) {
    Facts &of = facts[op];
    ImportResult result = importer.run(model.SerializeAsString());
    ASSERT_TRUE(result.module) << importer.last;
    auto predict = result.module->lookupSymbol<mlir::func::FuncOp>("predict");
    learnOps(predict, op, of);
    if (isAlone || op == qualifiedOp(*model.graph().node().rbegin()))
      of.hasGradient |= hasGradient(predict);
    result.module = nullptr;
    if (isAlone)
      learnTypes(model, of);
  }
}

std::string OpList::text() const {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << "# Supported ONNX ops\n\nThe test "
        "`test/compiler/Import/op_list_test.cpp` generates this page and fails "
        "if it is out of date. It covers opsets "
     << kOldestUpgraded << " to " << kNewestOpset
     << " of domain ai.onnx (models before opset " << kOldestOpset
     << " are converted to it) and version " << kOtherVersion
     << " of other domains. f16, bf16 and f64 are imported as f32.\n\nThe "
        "entries come from the smallest nodes of each op and are the same for "
        "CPUs and GPUs (GPU code has not run yet):\n\n"
        "- `precision`: [classes](../../docs/rationale/amp.md#the-problem) of "
        "the `train` ops that the op becomes.\n"
        "- `formats`: formats other than f32 in which the op can be computed, "
        "with the devices if only some support it. The format is chosen per "
        "tensor. Products with a weight can also use FP8 where `scaled_matmul` "
        "is a kernel.\n"
        "- `computed by`: kernels of `kernels/catalog.def` or generated code.\n"
        "- `constants`: `too` if the op is also evaluated at compile time when "
        "all inputs are known, `alone` if only then.\n\n`-` in `precision`, "
        "`formats` or `computed by`: only data movement or constants remain.\n";
  std::string last;
  forEachOp([&](llvm::StringRef family, const OpRow &row) {
    if (family != last)
      os << "\n## " << family
         << "\n\n| op | from opset | inputs | types | gradient | precision | "
            "formats | computed by | constants |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    last = family.str();
    bool isOther = row.op.contains('.');
    const OpRow *newest = findOp(row.op, kNewestOpset);
    const Facts &of = facts.at(row.op.str());
    os << "| " << row.op << " | "
       << (isOther ? row.since : std::max(row.since, kOldestOpset)) << " | "
       << newest->minInputs;
    if (newest->maxInputs == kAnyNumber)
      os << " or more";
    else if (newest->maxInputs != newest->minInputs)
      os << " to " << newest->maxInputs;
    os << " | " << join(of.types) << " | " << (of.hasGradient ? "yes" : "-")
       << " | " << join(of.classes) << " | " << of.formats.text() << " | "
       << join(of.kernels) << " | "
       << (row.import == requireConstants ? "alone"
           : row.fold                     ? "too"
                                          : "-")
       << " |\n";
  });
  writeKernels(os);
  os << "\n## Gradients at kinks, ties and zeros\n\nThere, gradients are "
        "those of PyTorch (checked by `test/gradients/special`), with these "
        "exceptions:\n\n| op | exception |\n| --- | --- |\n";
  for (auto [op, exception] : kExceptions)
    os << "| " << op << " | " << exception << " |\n";
  os << "\n## Differences from other implementations\n\n"
        "- LSTM with `clip`: ONNX clips the inputs of all activations, "
        "including the cell state before it becomes the output. ONNX Runtime "
        "does not clip the cell state.\n"
        "- Resize with `scales`: the new extent is the product of extent and "
        "scale in f32, rounded down to a whole number, and `align_corners`, "
        "`pytorch_half_pixel` and `tf_crop_and_resize` use this rounded "
        "extent, as in ONNX Runtime. ONNX's reference implementation uses the "
        "product itself. ONNX Runtime copies an image if its extents stay the "
        "same, even if the scale is not 1.\n\n"
        "## Very large and very small numbers\n\n"
        "- Exp and ops computed from it (Sigmoid, Softplus, Elu, Softmax): "
        "results below 2^-126 are 0. PyTorch keeps subnormal numbers on CPUs, "
        "so `Log(Sigmoid(x))` is minus infinity for x below -104 in PyTorch "
        "and below -87 in mpc; `-Softplus(-x)` has no such limit.\n"
        "- Sin, Cos and Tan lose digits for arguments beyond 1e12 and have no "
        "correct digits beyond 1e19. PyTorch reduces any argument exactly.\n"
        "- Pow with a computed exponent, and its gradient: the relative error "
        "is up to 4e-6, from rounding `y log x`.\n"
        "- ReduceL2, LpNormalization and norms square their input: in f32, "
        "squares of numbers beyond 1e19 are infinite and squares of numbers "
        "below 1e-23 are 0, as in PyTorch.\n"
        "- Layer, group, instance and batch norms of an input whose mean is M "
        "times its standard deviation have an error of about M 4e-8, as in "
        "PyTorch.\n\n"
        "## Labels and indices out of range\n\n"
        "- Labels of SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss "
        "must be in [0, C) or equal to `ignore_index`, indices of Gather, "
        "GatherElements and GatherND in [-C, C), where C is the extent of the "
        "dimension; ONNX leaves other values undefined. If labels or indices "
        "are an input of the model, or computed from an input with constants "
        "(sums, products, Clip, Max, Min, Mod, and Where with conditions on "
        "the same input), mpc derives the valid range of the input and rejects "
        "data outside it (exit status 2). If they are computed in another way, "
        "a value out of range makes its result NaN, in the loss and in the "
        "gradient, so that the step changes nothing (exit status 6). An index "
        "of -1, which GatherElements of `y - 1` may have, counts from the end, "
        "as ONNX specifies; PyTorch's `gather` rejects it.\n"
        "- TorchScript's exporter writes `x[i, y]`, for x of shape [N, C], as "
        "row i * C + y of x reshaped to [N * C]. If an index of a flattened "
        "tensor has this form, mpc applies PyTorch's meaning: an input that is "
        "y, or from which y is computed as above, must give values in [0, C), "
        "although other rows exist. If y is computed in another way, the graph "
        "does not distinguish a column from the next row, and a label outside "
        "[0, C) reads an element of another row, as ONNX specifies. If the row "
        "index is the same for all elements, the range of y is that of the "
        "rows. The newer exporter writes GatherND, which is not ambiguous.\n";
  return result;
}

TEST_F(OpList, IsTheOneInTheRepository) {
  for (const onnx::ModelProto &model : smallModels())
    learn(model);
  std::string found = text();
  if (const char *path = std::getenv("MPC_WRITE_OPS"))
    std::ofstream(path) << found;
  auto stored = llvm::MemoryBuffer::getFile(MPC_OPS);
  ASSERT_TRUE(stored);
  EXPECT_EQ(found, (*stored)->getBuffer().str());
}

} // namespace
