// OPS.md: the op table, and what the smallest nodes of every op show. To renew
// it:
//   MPC_WRITE_OPS=compiler/Import/OPS.md mpc-import-test
//   --gtest_filter=OpList.*

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

/// What is known of an op beside its row.
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

/// Where gradients are not PyTorch's. test/gradients/special has a row for
/// each.
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

/// Whether the result depends on an input through floats, by ops that have
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

/// Learns which types the inputs may be that are floats here; without such,
/// which they are.
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
  os << "# ONNX ops that mpc takes\n\nWritten by a test "
        "(`test/compiler/Import/op_list_test.cpp`), which compares. Opsets "
     << kOldestUpgraded << " to " << kNewestOpset
     << " of domain ai.onnx, those before " << kOldestOpset
     << " after a conversion to it; version " << kOtherVersion
     << " of other domains. f16, bf16 and f64 are taken as f32.\nWhat an op "
        "becomes - classes of precision, kernels of `kernels/catalog.def` or "
        "generated code - is the same for CPUs and GPUs (no GPU has run one "
        "yet), and was seen on the op's smallest nodes, as were the types of "
        "inputs and whether gradients flow. `-`: nothing is left of the op "
        "but data that moves, or constants: \"too\" where all inputs are "
        "known, or \"alone\". `formats` lists what the op can be computed in "
        "beside f32, with the devices if not all of them can; what a program "
        "uses is decided for each tensor. Products with a weight can also be "
        "FP8, where `scaled_matmul` is a kernel.\n";
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
       << (row.import == refuseData ? "alone"
           : row.fold               ? "too"
                                    : "-")
       << " |\n";
  });
  writeKernels(os);
  os << "\n## Gradients at kinks, ties and zeros\n\nThere the gradients are "
        "those of PyTorch (`test/gradients/special` compares), with these "
        "exceptions:\n\n| op | exception |\n| --- | --- |\n";
  for (auto [op, exception] : kExceptions)
    os << "| " << op << " | " << exception << " |\n";
  os << "\n## Where others compute something else\n\n"
        "- LSTM with `clip`: ONNX clips what every activation reads, so the "
        "cell state as well before it becomes the output. ONNX Runtime does "
        "not clip that one.\n"
        "- Resize with `scales`: the new extent is a whole number, rounded "
        "down from a product in f32, and `align_corners`, `pytorch_half_pixel` "
        "and `tf_crop_and_resize` compute with it, as in ONNX Runtime. ONNX's "
        "reference code computes with the product. ONNX Runtime copies an "
        "image whose extents stay, although its scale is not 1.\n"
        "\n## Very large and very small numbers\n\n"
        "- Exp, and what is computed by it (Sigmoid, Softplus, Elu, Softmax): "
        "results below 2^-126 are 0. PyTorch keeps subnormal numbers on CPUs, "
        "so that there `Log(Sigmoid(x))` is minus infinity below -104, here "
        "below -87; `-Softplus(-x)` has no such limit.\n"
        "- Sin, Cos and Tan lose digits beyond 1e12, and have none beyond "
        "1e19. PyTorch reduces any angle exactly.\n"
        "- Pow with an exponent that is computed, and its gradient: the "
        "relative error is up to that of a rounding of `y log x`, 4e-6.\n"
        "- ReduceL2, LpNormalization and norms square their input: in f32 "
        "beyond 1e19 squares are infinite, below 1e-23 they are 0, as in "
        "PyTorch.\n"
        "- Layer, group, instance and batch norms of an input whose mean is M "
        "times its deviation are off by M 4e-8 or so, as in PyTorch.\n"
        "\n## Labels and indices out of range\n\n"
        "- Labels of SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss lie "
        "in [0, C) or equal `ignore_index`, and indices of Gather, "
        "GatherElements and GatherND in [-C, C), C being the extent of the "
        "dimension; ONNX leaves others undefined. Where they are an input of "
        "the model, or are computed from one with constants (sums, products, "
        "Clip, Max, Min, Mod, and Where with conditions on the same input), "
        "the input has the range that follows, and data outside it is refused "
        "(exit status 2). Where they are computed otherwise, one that is out "
        "of range makes its result NaN, in the loss and in the gradient, so "
        "that the step changes nothing (exit status 6). An index of -1, as "
        "GatherElements behind `y - 1` may have it, counts from the end, as "
        "ONNX says; PyTorch's `gather` refuses it.\n"
        "- TorchScript's exporter writes `x[i, y]`, of an x of [N, C], as row "
        "i * C + y of x under the shape [N * C]. Rows of a flattened tensor "
        "whose index is put together like that are taken for what PyTorch "
        "means: an input that is y, or that y is computed from as above, must "
        "give [0, C), although other rows exist. Where y is computed "
        "otherwise, nothing in the graph tells a column from the next row, and "
        "a label outside [0, C) reads another row's element, as ONNX says. "
        "With a row index that is one number for all, y has the range of the "
        "rows. The newer exporter writes GatherND, which needs no such "
        "guess.\n";
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
