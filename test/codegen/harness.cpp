//===- harness.cpp - Compile, load and call kernels -----------------------===//

#include "test/codegen/harness.h"

#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "compiler/Import/Import.h"
#include "compiler/Target/Cpu/CpuTarget.h"
#include "compiler/Target/Cpu/KernelObject.h"
#include "compiler/Target/Cuda/GpuTarget.h"
#include "passes/Driver/Pipeline.h"
#include "test/device_sim/device_sim.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <optional>
#include <random>
#include <unistd.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

struct Compiled::Parts {
  MLIRContext context;
  OwningOpRef<ModuleOp> module, source;
  void *library = nullptr;
};

static void runStages(ModuleOp module,
                      std::initializer_list<const char *> names,
                      const StageTarget &target) {
  PassManager manager(module.getContext());
  for (const char *name : names)
    ASSERT_TRUE(addStage(manager, name, CompileOptions(), target));
  ASSERT_TRUE(succeeded(manager.run(module)));
}

static void *load(const std::string &object) {
  char path[] = "/tmp/mpc-codegen-test-XXXXXX";
  int file = mkstemp(path);
  EXPECT_EQ(write(file, object.data(), object.size()), ssize_t(object.size()));
  close(file);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  unlink(path);
  return library;
}

static void loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registry.insert<amp::AmpDialect, exec::ExecDialect, train::TrainDialect,
                  func::FuncDialect, arith::ArithDialect, linalg::LinalgDialect,
                  math::MathDialect, tensor::TensorDialect>();
  train::registerAmpLowering(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

Compiled::Compiled(const std::string &text, llvm::StringRef device,
                   std::vector<std::string> features)
    : parts(new Parts()) {
  loadDialects(parts->context);
  parts->module = parseSourceString<ModuleOp>(text, &parts->context);
  EXPECT_TRUE(bool(parts->module)) << text;
  if (parts->module)
    build(device, std::move(features));
}

Compiled::Compiled(const CompileOptions &model, llvm::StringRef device)
    : parts(new Parts()) {
  loadDialects(parts->context);
  parts->module = importOnnx(model.model, {}, parts->context).module;
  EXPECT_TRUE(bool(parts->module)) << model.model;
  if (!parts->module)
    return;
  PassManager manager(&parts->context);
  for (const char *name : {"graph", "grad", "precision"})
    EXPECT_TRUE(addStage(manager, name, model));
  EXPECT_TRUE(succeeded(manager.run(*parts->module)));
  build(device);
}

/// Builds the kernels of a module whose precisions have been assigned.
void Compiled::build(llvm::StringRef device,
                     std::vector<std::string> features) {
  llvm::Expected<CpuTarget> target = findCpuTarget("native");
  EXPECT_TRUE(bool(target));
  if (!target)
    return;
  const Backend &backend = *findBackend(device);
  if (backend.isAccelerator())
    features.push_back(kSimulatedFeature.str());
  else
    features = target->features;
  StageTarget stages(backend);
  stages.features = features;
  runStages(*parts->module, {"fusion"}, stages);
  parts->source = parts->module->clone();
  runStages(*parts->module, {"plan", "codegen"}, stages);
  std::string object;
  if (llvm::Error error = compileKernels(*parts->module, *target, object))
    FAIL() << llvm::toString(std::move(error));
  parts->library = load(object);
  if (!parts->library)
    return;
  for (auto func : parts->source->getOps<func::FuncOp>()) {
    if (!func->hasAttr("mpc.kernel"))
      continue;
    Kernel kernel;
    kernel.name = func.getName().str();
    kernel.source = func;
    for (Type type : func.getArgumentTypes())
      kernel.inputs.push_back(cast<RankedTensorType>(type));
    for (Type type : func.getResultTypes())
      kernel.outputs.push_back(cast<RankedTensorType>(type));
    SmallVector<linalg::GenericOp> ops(func.getOps<linalg::GenericOp>());
    LaunchShape shape = *backend.launchShape(*analyzeKernel(ops));
    kernel.items = shape.items;
    kernel.threads = shape.threads;
    kernel.sharedBytes = shape.sharedBytes;
    kernel.code = dlsym(parts->library, kernel.name.c_str());
    EXPECT_NE(kernel.code, nullptr);
    kernels.push_back(kernel);
  }
}

Compiled::~Compiled() {
  if (parts->library)
    dlclose(parts->library);
  delete parts;
}

namespace {

/// Memory of one operand with a guard on either side.
class Memory {
public:
  explicit Memory(RankedTensorType type)
      : type(type), bytes((type.getElementTypeBitWidth() + 7) / 8),
        size(type.getNumElements() * bytes), data(size + 2 * kGuard, kPattern) {
    start = kGuard - reinterpret_cast<uintptr_t>(data.data()) % 64;
  }

  void *get() { return data.data() + start; }
  std::string content() const { return std::string(data.data() + start, size); }
  void checkGuards() const {
    for (size_t i = 0; i < data.size(); ++i) {
      bool isGuard = i < start || i >= start + size;
      ASSERT_TRUE(!isGuard || data[i] == kPattern)
          << "byte " << int64_t(i - start) << " of " << size << " was written";
    }
  }

  void set(const Elements &values) {
    Type element = type.getElementType();
    for (size_t i = 0; i < values.size(); ++i) {
      uint64_t bits = uint64_t(int64_t(values[i]));
      if (auto kind = dyn_cast<FloatType>(element)) {
        APFloat number(values[i]);
        bool loses;
        number.convert(kind.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                       &loses);
        bits = number.bitcastToAPInt().getZExtValue();
      }
      memcpy(data.data() + start + i * bytes, &bits, bytes);
    }
  }

  Elements values() const {
    Elements result(type.getNumElements());
    Type element = type.getElementType();
    for (size_t i = 0; i < result.size(); ++i) {
      uint64_t bits = 0;
      memcpy(&bits, data.data() + start + i * bytes, bytes);
      if (auto kind = dyn_cast<FloatType>(element)) {
        APFloat number(kind.getFloatSemantics(), APInt(kind.getWidth(), bits));
        bool loses;
        number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                       &loses);
        result[i] = number.convertToDouble();
      } else {
        unsigned unused = 64 - 8 * bytes;
        result[i] = double(int64_t(bits << unused) >> unused);
      }
    }
    return result;
  }

private:
  static constexpr size_t kGuard = 256;
  static constexpr char kPattern = 0x5a;
  RankedTensorType type;
  size_t bytes, size;
  std::vector<char> data;
  size_t start;
};

} // namespace

/// Memory for all operands; results are zero. A result that shares the memory
/// of an input (a part of a concat) starts with the input's values.
static std::vector<Memory> makeOperands(const Kernel &kernel,
                                        const std::vector<Elements> &inputs) {
  std::vector<Memory> memories;
  for (auto [type, input] : llvm::zip(kernel.inputs, inputs)) {
    memories.emplace_back(type);
    memories.back().set(input);
  }
  func::FuncOp source = kernel.source;
  Operation *end = source.getBody().front().getTerminator();
  for (auto [type, value] : llvm::zip(kernel.outputs, end->getOperands())) {
    memories.emplace_back(type);
    auto made = cast<OpResult>(memoryRoot(value));
    Value init = cast<linalg::GenericOp>(made.getOwner())
                     .getDpsInits()[made.getResultNumber()];
    auto argument = dyn_cast<BlockArgument>(memoryRoot(init));
    memories.back().set(argument ? inputs[argument.getArgNumber()]
                                 : Elements(type.getNumElements(), 0));
  }
  return memories;
}

static std::vector<void *> addressesOf(std::vector<Memory> &memories) {
  std::vector<void *> addresses;
  for (Memory &memory : memories)
    addresses.push_back(memory.get());
  return addresses;
}

namespace {

/// A result that is written to the memory of an input.
struct Shared {
  unsigned input, result;
};

using MaybeShared = std::optional<Shared>;

} // namespace

/// The pairs that the plan may place in the same memory.
static std::vector<Shared> pairsInPlace(const Kernel &kernel) {
  std::vector<Shared> pairs;
  for (unsigned result = 0; result < kernel.outputs.size(); ++result)
    for (unsigned input = 0; input < kernel.inputs.size(); ++input)
      if (Memory(kernel.inputs[input]).content().size() ==
              Memory(kernel.outputs[result]).content().size() &&
          !continuedArgument(kernel.source, result) &&
          mayUpdateInPlace(kernel.source, input, result))
        pairs.push_back({input, result});
  return pairs;
}

/// The operand whose memory contains result number `result`.
static size_t placeOf(const Kernel &kernel, size_t result, MaybeShared shared) {
  return shared && shared->result == result ? shared->input
                                            : kernel.inputs.size() + result;
}

/// The contents of the results.
static std::vector<std::string> contentsOf(const Kernel &kernel,
                                           const std::vector<Memory> &memories,
                                           MaybeShared shared) {
  std::vector<std::string> contents;
  for (size_t i = 0; i < kernel.outputs.size(); ++i)
    contents.push_back(memories[placeOf(kernel, i, shared)].content());
  return contents;
}

/// Runs the kernel once with the items cut at `cuts`, the last piece first.
static std::vector<Memory> runPieces(const Kernel &kernel,
                                     const std::vector<Elements> &inputs,
                                     const std::vector<int64_t> &cuts,
                                     MaybeShared shared = {}) {
  auto code =
      reinterpret_cast<void (*)(void *const *, int64_t, int64_t)>(kernel.code);
  std::vector<Memory> memories = makeOperands(kernel, inputs);
  std::vector<void *> operands = addressesOf(memories);
  if (shared)
    operands[inputs.size() + shared->result] = operands[shared->input];
  for (size_t i = cuts.size() - 1; i > 0; --i)
    code(operands.data(), cuts[i - 1], cuts[i]);
  for (const Memory &memory : memories)
    memory.checkGuards();
  return memories;
}

void mpc::test::launchOnce(const Kernel &kernel, std::vector<void *> operands) {
  auto code = reinterpret_cast<void (*)(void *const *)>(kernel.code);
  std::vector<void *> parameters;
  for (void *&operand : operands)
    parameters.push_back(&operand);
  EXPECT_EQ(device_sim::run({{static_cast<uint32_t>(kernel.items), 1, 1},
                             {kernel.threads, 1, 1},
                             size_t(kernel.sharedBytes)},
                            [&] { code(parameters.data()); }),
            "");
}

/// Runs the grid of a kernel in all orders of the simulator, with `share` of
/// the dynamic shared memory that it can use.
static std::vector<Memory> launch(const Kernel &kernel,
                                  const std::vector<Elements> &inputs,
                                  MaybeShared shared = {}, double share = 1) {
  auto code = reinterpret_cast<void (*)(void *const *)>(kernel.code);
  std::vector<Memory> memories = makeOperands(kernel, inputs);
  std::vector<void *> operands = addressesOf(memories);
  if (shared)
    operands[inputs.size() + shared->result] = operands[shared->input];
  // Addresses of the parameters, as in a launch.
  std::vector<void *> parameters;
  std::vector<device_sim::Buffer> buffers;
  for (size_t i = 0; i < operands.size(); ++i) {
    parameters.push_back(&operands[i]);
    if (i >= inputs.size())
      buffers.emplace_back("result " + std::to_string(i - inputs.size()),
                           operands[i], memories[i].content().size());
  }
  device_sim::Launch grid{{uint32_t(kernel.items)},
                          {kernel.threads},
                          size_t(share * double(kernel.sharedBytes))};
  EXPECT_EQ(device_sim::run_in_all_orders(buffers,
                                          [&] {
                                            return device_sim::run(grid, [&] {
                                              code(parameters.data());
                                            });
                                          }),
            "")
      << kernel.name << ", " << kernel.items << " blocks of " << kernel.threads;
  for (const Memory &memory : memories)
    memory.checkGuards();
  return memories;
}

/// Runs the kernel with each result in the memory of an input, where allowed.
static void checkInPlace(const Kernel &kernel,
                         const std::vector<Elements> &inputs,
                         const std::vector<std::string> &wanted) {
  for (Shared shared : pairsInPlace(kernel)) {
    std::vector<Memory> memories =
        kernel.threads > 0
            ? launch(kernel, inputs, shared)
            : runPieces(kernel, inputs, {0, kernel.items}, shared);
    EXPECT_TRUE(contentsOf(kernel, memories, shared) == wanted)
        << kernel.name << ": other results if result " << shared.result
        << " takes the place of input " << shared.input;
  }
}

std::vector<Elements> mpc::test::call(const Kernel &kernel,
                                      const std::vector<Elements> &inputs) {
  std::vector<Memory> whole =
      kernel.threads > 0 ? launch(kernel, inputs)
                         : runPieces(kernel, inputs, {0, kernel.items});
  std::vector<std::string> contents = contentsOf(kernel, whole, {});
  if (kernel.threads == 0) {
    std::vector<int64_t> each;
    for (int64_t i = 0; i <= kernel.items; ++i)
      each.push_back(i);
    for (const auto &cuts :
         {each, {0, kernel.items / 3, kernel.items / 2, kernel.items}})
      EXPECT_TRUE(contentsOf(kernel, runPieces(kernel, inputs, cuts), {}) ==
                  contents)
          << kernel.name << ": results depend on the pieces";
  }
  if (kernel.sharedBytes > 0) {
    EXPECT_TRUE(contentsOf(kernel, launch(kernel, inputs, {}, 0.6), {}) ==
                contents)
        << kernel.name << ": results depend on the shared memory";
  }
  checkInPlace(kernel, inputs, contents);
  std::vector<Elements> results;
  for (size_t i = inputs.size(); i < whole.size(); ++i)
    results.push_back(whole[i].values());
  return results;
}

static Elements randomElements(RankedTensorType type, std::mt19937 &random,
                               double low, double high) {
  Elements values(type.getNumElements());
  std::uniform_real_distribution<double> real(low, high);
  for (double &value : values)
    value =
        isa<FloatType>(type.getElementType())
            ? roundTo(type.getElementType(), real(random))
            : double(random() % (type.getElementType().isInteger(1) ? 2 : 3));
  return values;
}

/// Relative to the larger of 1 and the value, because sums may cancel.
static double tolerance(Type element) {
  if (element.isF64())
    return 1e-12;
  if (element.isBF16())
    return 0x1p-7;
  return element.isF16() ? 0x1p-9 : 2e-5;
}

size_t mpc::test::checkKernels(const std::string &text, double low, double high,
                               llvm::StringRef device) {
  SCOPED_TRACE(device.str() + "\n" + text);
  Compiled compiled(text, device);
  // The reference adds f32 values sequentially: with 1024 of them, each
  // addition off by at most 2^-24, the sum is off by at most 6e-5.
  checkKernels(compiled, low, high, device == "reference" ? 1e-4 : 0);
  return compiled.kernels.size();
}

void mpc::test::checkKernels(const Compiled &compiled, double low, double high,
                             double least) {
  EXPECT_FALSE(compiled.kernels.empty());
  std::mt19937 random(7);
  for (const Kernel &kernel : compiled.kernels) {
    std::vector<Elements> inputs;
    for (RankedTensorType type : kernel.inputs)
      inputs.push_back(randomElements(type, random, low, high));
    std::vector<Elements> wanted = interpret(kernel.source, inputs);
    std::vector<Elements> found = call(kernel, inputs);
    for (size_t r = 0; r < wanted.size(); ++r) {
      Type element = kernel.outputs[r].getElementType();
      for (size_t i = 0; i < wanted[r].size(); ++i) {
        double want = wanted[r][i], have = found[r][i];
        if (have == want || (std::isnan(want) && std::isnan(have)))
          continue;
        EXPECT_NEAR(have, want,
                    std::max(least, tolerance(element)) *
                        std::max(1.0, std::fabs(want)))
            << kernel.name << " result " << r << " element " << i;
        if (::testing::Test::HasFailure())
          return;
      }
    }
  }
}
