//===- make_programs.cpp - Programs to run on a CPU and on a GPU ----------===//
//
// usage: mpc-make-gpu-programs FOLDER ARCHITECTURE [--if-driver]
//
// Writes packages for the CPU and for a GPU of one architecture ("sm_90", or
// "sim" for the simulator): every program of the kernel tests, and the example
// models and some others in each precision. Tests that run them do not need the
// compiler. With
// --if-driver nothing is written if there is no CUDA driver.
//
//===----------------------------------------------------------------------===//

#include <fstream>

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "kernels/cuda/driver/driver.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Driver/Targets.h"
#include "test/codegen/sources.h"

using namespace mlir;
using namespace mpc;

static std::string folder, architecture;

static LogicalResult writeFile(const std::string &name,
                               const std::string &content) {
  std::ofstream file(folder + "/" + name, std::ios::binary);
  file << content;
  return success(file.good());
}

/// Names inputs and outputs, as the runtime requires.
static void nameArguments(ModuleOp module) {
  Builder builder(module.getContext());
  for (auto func : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      func.setArgAttr(i, "mpc.name",
                      builder.getStringAttr("x" + std::to_string(i)));
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      func.setResultAttr(i, "mpc.name",
                         builder.getStringAttr("y" + std::to_string(i)));
  }
}

/// Options for a CPU level that all machines with a GPU have.
static CompileOptions commonOptions() {
  CompileOptions options;
  options.targets = {"cpu", "cuda:" + architecture};
  options.targetCpu = "x86-64-v3";
  return options;
}

static LogicalResult makeKernel(const test::KernelProgram &program,
                                MLIRContext &context) {
  auto module = parseSourceString<ModuleOp>(program.text, &context);
  if (!module) return failure();
  nameArguments(*module);
  CompileOptions options = commonOptions();
  auto targets = findTargets(options);
  if (!targets) return module->emitError(llvm::toString(targets.takeError()));
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<PackageVariant> variants;
  for (const auto &target : *targets) {
    modules.push_back(module->clone());
    variants.emplace_back();
    PassManager manager(&context);
    for (const char *stage : {"fusion", "plan", "codegen"})
      addStage(manager, stage, options, *target);
    if (failed(manager.run(*modules.back()))) return failure();
    if (llvm::Error error = target->generate(*modules.back(), variants.back()))
      return module->emitError(llvm::toString(std::move(error)));
  }
  PackageContents contents;
  contents.options = {{"low", std::to_string(program.low)},
                      {"high", std::to_string(program.high)}};
  FailureOr<std::string> package = buildPackage(variants, contents);
  if (failed(package)) return failure();
  return writeFile("kernel-" + program.name + ".mpc", *package);
}

static LogicalResult makeKernels() {
  DialectRegistry registry;
  registry.insert<amp::AmpDialect, exec::ExecDialect, train::TrainDialect,
                  func::FuncDialect>();
  train::registerAmpLowering(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  for (const std::string &source : test::sourceNames())
    for (const test::KernelProgram &program : test::programsOf(source)) {
      // f64 runs only on the CPU.
      if (program.name.find("-f64-") != std::string::npos) continue;
      if (failed(makeKernel(program, context))) return failure();
    }
  return success();
}

/// An initializer with small, distinct values of both signs.
static std::string parameter(const std::string &name, unsigned rows,
                             unsigned columns) {
  std::string text = "float[" + std::to_string(rows) + ", " +
                     std::to_string(columns) + "] " + name + " = {";
  for (unsigned i = 0; i < rows * columns; ++i)
    text += (i > 0 ? ", " : "") +
            std::to_string(double((i * 7919 + 13) % 101) / 250 - 0.2);
  return text + "}";
}

/// Classifies texts: embeddings of tokens and of positions.
static std::string tokensModel() {
  return "<ir_version: 8, opset_import: [\"\" : 17]>\n"
         "tokens (int64[32, 12] tokens) => (float[32, 10] logits)\n<" +
         parameter("table", 20, 16) + ", " + parameter("places", 12, 16) +
         ", " + parameter("w", 10, 192) +
         ">\n{\n"
         "  i = Constant <value = int64[12] {3, 1, 4, 0, 5, 9, 2, 6, -1, 8, 7, "
         "-2}> ()\n"
         "  e = Gather (table, tokens)\n  p = Gather (places, i)\n"
         "  s = Add (e, p)\n  h = Tanh (s)\n  f = Flatten (h)\n"
         "  logits = Gemm <transB = 1> (f, w)\n}\n";
}

/// Classifies digits: each row attends to those above it, with four heads, two
/// of which share keys.
static std::string attentionModel() {
  return "<ir_version: 10, opset_import: [\"\" : 23]>\n"
         "attention (float[32, 1, 8, 8] images) => (float[32, 10] logits)\n<" +
         parameter("query", 8, 32) + ", " + parameter("key", 8, 16) + ", " +
         parameter("value", 8, 16) + ", " + parameter("w", 10, 256) +
         ">\n{\n"
         "  s = Constant <value_ints = [32, 8, 8]> ()\n"
         "  rows = Reshape (images, s)\n  q = MatMul (rows, query)\n"
         "  k = MatMul (rows, key)\n  v = MatMul (rows, value)\n"
         "  a = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1> "
         "(q, k, v)\n"
         "  f = Flatten (a)\n  logits = Gemm <transB = 1> (f, w)\n}\n";
}

/// Classifies digits, reading row by row in both directions. The states of all
/// steps are in one tensor.
static std::string recurrentModel() {
  return "<ir_version: 8, opset_import: [\"\" : 17]>\n"
         "recurrent (float[32, 1, 8, 8] images) => (float[32, 10] logits)\n<" +
         parameter("input", 96, 8) + ", " + parameter("state", 96, 16) + ", " +
         parameter("w", 10, 256) +
         ">\n{\n"
         "  s = Constant <value_ints = [32, 8, 8]> ()\n"
         "  r = Reshape (images, s)\n"
         "  rows = Transpose <perm = [1, 0, 2]> (r)\n"
         "  i = Constant <value_ints = [2, 48, 8]> ()\n"
         "  x = Reshape (input, i)\n"
         "  j = Constant <value_ints = [2, 48, 16]> ()\n"
         "  h = Reshape (state, j)\n"
         "  y, last = GRU <direction = \"bidirectional\", hidden_size = 16> "
         "(rows, x, h)\n"
         "  t = Transpose <perm = [2, 0, 1, 3]> (y)\n"
         "  f = Flatten (t)\n  logits = Gemm <transB = 1> (f, w)\n}\n";
}

/// Two layers of a GPT: normalization, attention with one product for all
/// heads, and a wide layer with bias and GELU. Extents are suitable for FP8.
static std::string gptModel() {
  std::string text =
      "<ir_version: 10, opset_import: [\"\" : 23]>\n"
      "gpt (int64[32, 12] tokens) => (float[32, 10] logits)\n<" +
      parameter("table", 20, 32) + ", " + parameter("places", 12, 32) + ", " +
      parameter("w", 10, 384);
  for (std::string layer : {"0", "1"})
    text += ", " + parameter("qkv" + layer, 32, 96) + ", " +
            parameter("proj" + layer, 32, 32) + ", " +
            parameter("wide" + layer, 32, 128) + ", " +
            parameter("narrow" + layer, 128, 32);
  auto row = [](const std::string &value, int count = 32) {
    std::string list = value;
    for (int i = 1; i < count; ++i) list += ", " + value;
    return " = {" + list + "}";
  };
  for (std::string layer : {"0", "1"})
    text += ", float[128] s" + layer + row("0.125", 128);
  // Small logits, so that programs that round in different places stay close.
  for (std::string name : {"0a", "0b", "1a", "1b", "2a"})
    text += ", float[32] g" + name + row(name == "2a" ? "0.125" : "1") +
            ", float[32] b" + name + row("0");
  text +=
      ">\n{\n"
      "  i = Constant <value = int64[12] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, "
      "10, 11}> ()\n"
      "  e = Gather (table, tokens)\n  p = Gather (places, i)\n"
      "  x0 = Add (e, p)\n";
  for (int layer : {0, 1}) {
    const std::string n = std::to_string(layer),
                      next = std::to_string(layer + 1);
    text += "  n" + n + "a = LayerNormalization (x" + n + ", g" + n + "a, b" +
            n + "a)\n  m" + n + " = MatMul (n" + n + "a, qkv" + n + ")\n  q" +
            n + ", k" + n + ", v" + n +
            " = Split <axis = 2, num_outputs = 3> (m" + n + ")\n  a" + n +
            " = Attention <q_num_heads = 4, kv_num_heads = 4, is_causal = 1> "
            "(q" +
            n + ", k" + n + ", v" + n + ")\n  o" + n + " = MatMul (a" + n +
            ", proj" + n + ")\n  y" + n + " = Add (x" + n + ", o" + n +
            ")\n  n" + n + "b = LayerNormalization (y" + n + ", g" + n +
            "b, b" + n + "b)\n  h" + n + " = MatMul (n" + n + "b, wide" + n +
            ")\n  t" + n + " = Add (h" + n + ", s" + n + ")\n  u" + n +
            " = Gelu <approximate = \"tanh\"> (t" + n + ")\n  d" + n +
            " = MatMul (u" + n + ", narrow" + n + ")\n  x" + next +
            " = Add (y" + n + ", d" + n + ")\n";
  }
  return text +
         "  n2a = LayerNormalization (x2, g2a, b2a)\n  f = Flatten (n2a)\n  "
         "logits = Gemm <transB = 1> (f, w)\n}\n";
}

/// Classifies digits as some of 515 classes, whose rows GPUs pad.
static std::string classesModel() {
  return "<ir_version: 8, opset_import: [\"\" : 17]>\n"
         "classes (float[64, 1, 8, 8] images) => (float[64, 515] logits)\n<" +
         parameter("v", 16, 64) + ", " + parameter("w", 515, 16) + ", " +
         parameter("b", 1, 515) +
         ">\n{\n"
         "  f = Flatten (images)\n  g = Gemm <transB = 1> (f, v)\n"
         "  h = Tanh (g)\n  logits = Gemm <transB = 1> (h, w, b)\n}\n";
}

/// Whether the device can multiply FP8.
static bool hasFp8() {
  unsigned version = 0;
  return StringRef(architecture).starts_with("sim") ||
         (!StringRef(architecture).drop_front(3).getAsInteger(10, version) &&
          version >= 89);
}

static LogicalResult makeModels() {
  const llvm::StringMap<std::string> texts = {{"tokens", tokensModel()},
                                              {"attention", attentionModel()},
                                              {"classes", classesModel()},
                                              {"gpt", gptModel()},
                                              {"recurrent", recurrentModel()}};
  for (const auto &text : texts)
    if (failed(writeFile(text.first().str() + ".onnxtxt", text.second)))
      return failure();
  for (std::string model :
       {"mlp", "cnn", "tokens", "attention", "classes", "gpt", "recurrent"})
    for (std::string precision : {"fp32", "tf32", "bf16", "fp16", "fp8"}) {
      // TF32 changes only products.
      if (precision == "tf32" && model != "mlp" && model != "attention")
        continue;
      if (precision == "fp8" &&
          ((model != "mlp" && model != "gpt") || !hasFp8()))
        continue;
      // The padding is the same in all precisions.
      if (model == "classes" && precision != "bf16") continue;
      CompileOptions options = commonOptions();
      const bool isText = texts.contains(model);
      options.model = isText ? folder + "/" + model + ".onnxtxt"
                             : std::string(MPC_DIGITS) + "/" + model + ".onnx";
      if (isText) options.lr = model == "gpt" ? 0.003 : 0.01;
      options.precision = precision;
      options.observe = model == "mlp";
      if (model == "mlp") options.batches = {32, 16};
      if (precision == "fp8") {  // Small layers gain nothing from it.
        options.opPrecision = {model == "gpt" ? "h0=fp8" : "fc1=fp8"};
        if (model == "mlp") options.accumulate = 2;
      }
      options.output = folder + "/model-" + model + "-" + precision + ".mpc";
      CompileResult result = mpc::compile(options);
      if (failed(result.failure)) {
        llvm::errs() << result.diagnostics << result.error << "\n";
        return failure();
      }
    }
  return success();
}

int main(int argc, char **argv) {
  bool ifDriver = argc == 4 && argv[3] == std::string("--if-driver");
  if (argc != 3 && !ifDriver) {
    llvm::errs()
        << "usage: mpc-make-gpu-programs FOLDER ARCHITECTURE [--if-driver]\n";
    return 2;
  }
  folder = argv[1];
  architecture = argv[2];
  std::string missing;
  if (ifDriver && !cuda::load_driver(&missing)) {
    llvm::outs() << "no programs are made: " << missing << "\n";
    return 0;
  }
  if (llvm::sys::fs::create_directories(folder) || failed(makeKernels()) ||
      failed(makeModels()) ||
      failed(writeFile("architecture", architecture + "\n"))) {
    llvm::errs() << "mpc-make-gpu-programs: failed in '" << folder << "'\n";
    return 1;
  }
}
