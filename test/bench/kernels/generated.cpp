// mpc-generated-bench: memory rate of generated kernels compared with a copy of
// as many bytes, in turns in one process. A module for each case goes through
// the stages fusion, plan and codegen; the launches of the entry point are
// timed, split over threads as in the runtime.
//
// Every call of a kernel or copy uses the next of several sets of memory, which
// together are four times the size of the last-level cache (the rule of
// STREAM), so that all data comes from main memory. With --resident there is
// one set, and cases that fit run from the cache.

#include <dlfcn.h>
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "compiler/Catalog/Catalog.h"
#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "compiler/Target/Cpu/CpuTarget.h"
#include "compiler/Target/Cpu/KernelObject.h"
#include "kernels/kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Driver/Pipeline.h"
#include "test/bench/kernels/canary.h"
#include "test/bench/kernels/copy.h"

using namespace mlir;

namespace {

using Function = void (*)(void *const *, int64_t, int64_t);

struct Case {
  std::string name, source;
};

struct Memory {
  explicit Memory(size_t size)
      : size((size + 4095) / 4096 * 4096),
        data(static_cast<char *>(std::aligned_alloc(4096, this->size))) {}
  ~Memory() { std::free(data); }
  Memory(Memory &&other)
      : size(other.size), data(std::exchange(other.data, nullptr)) {}

  /// Floats between 0.5 and 1, in f32 and in bf16.
  void fill() {
    auto *words = reinterpret_cast<uint16_t *>(data);
    uint32_t state = 1;
    for (size_t i = 0; i < size / 2; ++i) {
      state = state * 1664525 + 1013904223;
      words[i] = uint16_t(0x3f00 | (state >> 25));
    }
  }
  size_t size;
  char *data;
};

/// The number of sets of `bytes` that together are four times the last-level
/// cache.
size_t setsBeyondCache(size_t bytes) {
  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return cache <= 0 ? 1 : 4 * size_t(cache) / bytes + 1;
}

struct Call {
  Function function = nullptr;
  std::unique_ptr<mpc::kernels::Kernel> kernel;
  std::vector<std::vector<void *>>
      operands;  ///< Operands in each set of memory.
  int64_t items = 0;
  int threads = 1;
  std::string name;
};

[[noreturn]] void fail(const std::string &what) {
  std::fprintf(stderr, "mpc-generated-bench: %s\n", what.c_str());
  std::exit(1);
}

std::string replaceAll(std::string text, const std::string &from,
                       const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The cases in one element type; X is a batch of rows, V a vector of f32.
void addCases(const std::string &type, std::vector<Case> &cases) {
  auto add = [&](const char *name, std::string source) {
    source = replaceAll(source, "!X", "tensor<8192x1024x" + type + ">");
    source = replaceAll(source, "!V", "tensor<1024xf32>");
    source = replaceAll(source, "!R", "tensor<8192xf32>");
    cases.push_back({std::string(name) + "." + type, source});
  };
  add("gelu", R"(func.func @entry(%x: !X {mpc.name = "x"})
      -> (!X {mpc.name = "y"}) {
    %y = train.gelu %x : (!X) -> !X
    return %y : !X
  })");
  add("gelu-grad", R"(func.func @entry(%d: !X {mpc.name = "d"},
      %x: !X {mpc.name = "x"}) -> (!X {mpc.name = "dx"}) {
    %y = train.gelu_grad %d, %x : (!X, !X) -> !X
    return %y : !X
  })");
  add("layer-norm", R"(func.func @entry(%x: !X {mpc.name = "x"},
      %s: !V {mpc.name = "s"}, %b: !V {mpc.name = "b"})
      -> (!X {mpc.name = "y"}, !R {mpc.name = "m"}, !R {mpc.name = "i"}) {
    %y, %m, %i = train.layer_norm %x, %s, %b
      {axis = 1 : i64, epsilon = 1.0e-05 : f32} : (!X, !V, !V) -> (!X, !R, !R)
    return %y, %m, %i : !X, !R, !R
  })");
  add("layer-norm-grad", R"(func.func @entry(%d: !X {mpc.name = "d"},
      %x: !X {mpc.name = "x"}, %s: !V {mpc.name = "s"},
      %m: !R {mpc.name = "m"}, %i: !R {mpc.name = "i"})
      -> (!X {mpc.name = "dx"}, !V {mpc.name = "ds"}, !V {mpc.name = "db"}) {
    %g:3 = train.layer_norm_grad %d, %x, %s, %m, %i {axis = 1 : i64}
      : (!X, !X, !V, !R, !R) -> (!X, !V, !V)
    return %g#0, %g#1, %g#2 : !X, !V, !V
  })");
  // The loss is computed in f32; with bf16 the logits and their gradient are 16
  // bit, as after a bf16 product.
  bool low = type != "f32";
  std::string wide = "%x";
  std::string widen, narrow, result = "%g";
  if (low) {
    wide = "%w";
    widen = "%w = amp.cast %x : !X to !F\n";
    narrow = "%n = amp.cast %g : !F to !X\n";
    result = "%n";
  }
  std::string header = R"(func.func @entry(%x: !X {mpc.name = "x"},
      %l: tensor<8192xi64> {mpc.name = "l", mpc.range = [0, 1024]})";
  std::string attributes =
      " {ignore_index = -100 : i64, reduction = #train<reduction mean>} : ";
  auto addLoss = [&](const char *name, const std::string &source) {
    add(name, replaceAll(source, "!F", "tensor<8192x1024xf32>"));
  };
  addLoss("softmax-cross-entropy",
          header + R"() -> (tensor<f32> {mpc.name = "loss"}) {
    )" + widen +
              "%y = train.softmax_cross_entropy " + wide + ", %l" + attributes +
              R"((!F, tensor<8192xi64>) -> tensor<f32>
    return %y : tensor<f32>
  })");
  addLoss("softmax-cross-entropy-grad",
          header + R"(, %d: tensor<f32> {mpc.name = "d"})
      -> (!X {mpc.name = "dx"}) {
    )" + widen +
              "%g = train.softmax_cross_entropy_grad %d, " + wide + ", %l" +
              attributes + "(tensor<f32>, !F, tensor<8192xi64>) -> !F\n" +
              narrow + "return " + result + " : !X\n}");
}

/// 10M parameters: updates masters and moments in place and writes the bf16
/// copy.
Case adamCase() {
  std::string source = R"(
  train.state @w parameter : !P
  train.state @m optimizer : !P
  train.state @v optimizer : !P
  train.state @w.bf16 working_copy {of = @w} : !H
  func.func @entry(%g: !P {mpc.name = "g"}, %lr: tensor<f32> {mpc.name = "lr"},
      %c1: tensor<f32> {mpc.name = "c1"}, %c2: tensor<f32> {mpc.name = "c2"}) {
    %w = train.read @w : !P
    %m = train.read @m : !P
    %v = train.read @v : !P
    %n:3 = train.adam %w, %g, %m, %v, %lr, %c1, %c2 {beta1 = 0.9 : f32,
      beta2 = 0.999 : f32, epsilon = 1.0e-8 : f32, weight_decay = 0.01 : f32,
      decoupled} : (!P, !P, !P, !P, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (!P, !P, !P)
    %h = amp.cast %n#0 : !P to !H
    train.write @w, %n#0 : !P
    train.write @w.bf16, %h : !H
    train.write @m, %n#1 : !P
    train.write @v, %n#2 : !P
    return
  })";
  source = replaceAll(source, "!P", "tensor<9766x1024xf32>");
  return {"adamw.10M", replaceAll(source, "!H", "tensor<9766x1024xbf16>")};
}

int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  unsigned bits = tensor.getElementTypeBitWidth();
  return tensor.getNumElements() * ((bits + 7) / 8);
}

/// The bytes that must be moved: arguments and states read once, results and
/// states written once.
double bytesThatMustMove(ModuleOp module) {
  double bytes = 0;
  module.walk([&](func::FuncOp func) {
    for (Type type : func.getFunctionType().getInputs()) bytes += bytesOf(type);
    for (Type type : func.getFunctionType().getResults())
      bytes += bytesOf(type);
  });
  module.walk([&](Operation *op) {
    if (isa<mpc::train::ReadOp>(op))
      bytes += bytesOf(op->getResult(0).getType());
    else if (isa<mpc::train::WriteOp>(op))
      bytes += bytesOf(op->getOperand(0).getType());
  });
  return bytes;
}

mpc_dtype_t dtypeOf(Type element) {
  if (element.isF32()) return MPC_DTYPE_F32;
  if (element.isBF16()) return MPC_DTYPE_BF16;
  if (element.isInteger(64)) return MPC_DTYPE_I64;
  return MPC_DTYPE_U8;
}

/// One compiled case with its own memory.
class Program {
 public:
  Program(const Case &which, MLIRContext &context, bool resident)
      : name(which.name) {
    module = parseSourceString<ModuleOp>(which.source, &context);
    if (!module) fail("the module of " + name + " does not parse");
    bytes = bytesThatMustMove(*module);
    for (const char *stage : {"fusion", "plan", "codegen"}) {
      PassManager manager(&context);
      mpc::addStage(manager, stage, mpc::CompileOptions());
      if (failed(manager.run(*module)))
        fail("stage " + std::string(stage) + " fails on " + name);
    }
    llvm::Expected<mpc::CpuTarget> target = mpc::findCpuTarget("native");
    if (!target) fail(llvm::toString(target.takeError()));
    std::string object;
    if (llvm::Error error =
            mpc::compileKernels(*module, *target, object, &assembly))
      fail("no code for " + name + ": " + llvm::toString(std::move(error)));
    load(object);
    prepare(resident ? 1 : setsBeyondCache(size_t(bytes)));
  }
  ~Program() {
    if (library) dlclose(library);
  }

  /// Runs on the next set of memory.
  void run() {
    for (Call &call : calls) {
      void *const *operands = call.operands[turn].data();
      if (call.kernel)
        call.kernel->run(operands, scratch->data);
      else
        runShared(call, operands);
    }
    turn = (turn + 1) % memory.size();
  }

  std::string name, assembly;
  double bytes = 0;
  std::vector<Call> calls;
  bool inPlace = false;  ///< A result took the memory of an argument.

 private:
  /// Like runtime/src/device/host.cpp.
  static void runShared(const Call &call, void *const *operands) {
    if (call.threads == 1) return call.function(operands, 0, call.items);
#pragma omp parallel num_threads(call.threads)
    {
      int64_t parts = omp_get_num_threads(), part = omp_get_thread_num();
      int64_t size = call.items / parts, longer = call.items % parts;
      int64_t begin = part * size + std::min(part, longer);
      int64_t end = begin + size + (part < longer ? 1 : 0);
      if (begin < end) call.function(operands, begin, end);
    }
  }

  void load(const std::string &object) {
    int file = memfd_create("mpc-generated-bench", 0);
    if (file < 0 ||
        write(file, object.data(), object.size()) != ssize_t(object.size()))
      fail("cannot hold the object code of " + name);
    library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(),
                     RTLD_NOW | RTLD_LOCAL);
    close(file);
    if (!library) fail(dlerror());
  }

  void prepare(size_t sets) {
    size_t sizes[2] = {64, 64}, scratchSize = 64;
    auto grow = [&](mpc::exec::BufferAttr buffer) {
      size_t &size = sizes[unsigned(buffer.getSpace())];
      size = std::max(size,
                      size_t(buffer.getOffset() + bytesOf(buffer.getType())));
    };
    std::vector<mpc::exec::BufferAttr> labels, ends[2];
    module->walk([&](mpc::exec::EntryOp entry) {
      for (bool output : {false, true})
        for (auto binding : (output ? entry.getOutputs() : entry.getInputs())
                                .getAsRange<DictionaryAttr>()) {
          auto buffer = binding.getAs<mpc::exec::BufferAttr>("buffer");
          grow(buffer);
          ends[output].push_back(buffer);
          if (buffer.getType().getElementType().isInteger(64))
            labels.push_back(buffer);
        }
    });
    module->walk([&](Operation *op) {
      if (auto list = op->getAttrOfType<ArrayAttr>("operands"))
        for (auto buffer : list.getAsRange<mpc::exec::BufferAttr>())
          grow(buffer);
    });
    for (mpc::exec::BufferAttr from : ends[0])
      for (mpc::exec::BufferAttr to : ends[1]) inPlace |= overlap(from, to);
    memory.resize(sets);
    for (Set &set : memory) {
      for (unsigned i = 0; i < 2; ++i) {
        set[i] = std::make_unique<Memory>(sizes[i]);
        set[i]->fill();
      }
      for (mpc::exec::BufferAttr buffer : labels)
        for (int64_t i = 0; i < buffer.getType().getNumElements(); ++i)
          reinterpret_cast<int64_t *>(place(set, buffer))[i] = i % 1000;
    }
    module->walk([&](Operation *op) {
      if (auto launch = dyn_cast<mpc::exec::LaunchOp>(op))
        addLaunch(launch);
      else if (auto call = dyn_cast<mpc::exec::CallOp>(op))
        scratchSize = std::max(scratchSize, addCall(call));
    });
    scratch = std::make_unique<Memory>(scratchSize);
  }

  static bool overlap(mpc::exec::BufferAttr a, mpc::exec::BufferAttr b) {
    return a.getSpace() == b.getSpace() &&
           a.getOffset() < b.getOffset() + bytesOf(b.getType()) &&
           b.getOffset() < a.getOffset() + bytesOf(a.getType());
  }

  using Set = std::array<std::unique_ptr<Memory>, 2>;  ///< By memory space.

  static void *place(const Set &set, mpc::exec::BufferAttr buffer) {
    return set[unsigned(buffer.getSpace())]->data + buffer.getOffset();
  }

  void addOperands(Call &call, ArrayAttr buffers) {
    for (const Set &set : memory) {
      std::vector<void *> &operands = call.operands.emplace_back();
      for (auto buffer : buffers.getAsRange<mpc::exec::BufferAttr>())
        operands.push_back(place(set, buffer));
    }
  }

  void addLaunch(mpc::exec::LaunchOp op) {
    Call call;
    call.name = op.getKernel().str();
    call.function =
        reinterpret_cast<Function>(dlsym(library, call.name.c_str()));
    if (!call.function) fail("the code lacks " + call.name);
    call.items = op.getItems();
    call.threads = int(
        std::min<int64_t>(omp_get_max_threads(),
                          std::max<int64_t>(1, call.items / op.getGrain())));
    addOperands(call, op.getOperands());
    calls.push_back(std::move(call));
  }

  size_t addCall(mpc::exec::CallOp op) {
    Call call;
    call.name = op.getKernel().str();
    mpc::kernels::KernelDesc desc;
    desc.id = mpc::kernels::KernelId(*mpc::kernelId(op.getKernel()));
    desc.attributes = op.getParameters().vec();
    for (auto buffer : op.getOperands().getAsRange<mpc::exec::BufferAttr>()) {
      RankedTensorType type = buffer.getType();
      desc.operands.push_back(
          {dtypeOf(type.getElementType()), type.getShape().vec()});
    }
    addOperands(call, op.getOperands());
    std::string error;
    call.kernel = mpc::kernels::make_cpu_kernel(
        desc, {omp_get_max_threads(), false}, &error);
    if (!call.kernel) fail(error);
    size_t size = call.kernel->scratch_bytes();
    calls.push_back(std::move(call));
    return size;
  }

  OwningOpRef<ModuleOp> module;
  void *library = nullptr;
  std::vector<Set> memory;
  size_t turn = 0;
  std::unique_ptr<Memory> scratch;
};

struct Options {
  std::string filter, assembly, json;
  int rounds = 15;
  bool resident = false;
};

/// Times the case and both copies in turns and prints a line.
void measure(Program &program, const Options &options, FILE *json) {
  size_t half = size_t(program.bytes / 2) / 64 * 64;
  std::vector<std::pair<Memory, Memory>> sets;
  size_t count = options.resident ? 1 : setsBeyondCache(2 * half);
  sets.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    sets.emplace_back(half, half);
    sets.back().first.fill();
    sets.back().second.fill();
  }
  size_t turn = 0;
  auto copy = [&](auto function) {
    function(sets[turn].second.data, sets[turn].first.data, half);
    turn = (turn + 1) % sets.size();
  };
  std::vector<double> times[3], canaries;
  program.run();
  for (int round = 0; round < options.rounds; ++round) {
    double canary = mpc::bench::canary_f32();
    times[0].push_back(mpc::bench::time_per_call(0.05, [&] { program.run(); }));
    times[1].push_back(
        mpc::bench::time_per_call(0.05, [&] { copy(mpc::bench::copy_plain); }));
    times[2].push_back(mpc::bench::time_per_call(
        0.05, [&] { copy(mpc::bench::copy_streaming); }));
    canaries.push_back(std::min(canary, mpc::bench::canary_f32()));
  }
  double peak = *std::max_element(canaries.begin(), canaries.end());
  std::vector<double> rates[3], ratios;
  for (size_t i = 0; i < canaries.size(); ++i) {
    if (canaries[i] < 0.95 * peak) continue;
    for (int k = 0; k < 3; ++k)
      rates[k].push_back((k ? 2.0 * half : program.bytes) / times[k][i] * 1e-9);
    ratios.push_back(rates[0].back() / rates[1].back());
  }
  double ours = mpc::bench::median(rates[0]);
  double plain = mpc::bench::median(rates[1]);
  double streaming = mpc::bench::median(rates[2]);
  std::printf("%-31s %7.1f %6.2f %6.2f %6.2f %6.2f..%-5.2f %3zu/%-3zu",
              program.name.c_str(), program.bytes / ours * 1e-3, ours, plain,
              streaming, *std::min_element(ratios.begin(), ratios.end()),
              *std::max_element(ratios.begin(), ratios.end()), ratios.size(),
              canaries.size());
  std::printf(" %6.3f  ", mpc::bench::median(ratios));
  for (const Call &call : program.calls)
    std::printf("%s%s", call.name.c_str(),
                call.kernel ? " "
                            : (":" + std::to_string(call.items) + "x" +
                               std::to_string(call.threads) + " ")
                                  .c_str());
  std::printf("%s\n", program.inPlace ? "in place" : "");
  std::fflush(stdout);
  if (json)
    std::fprintf(json,
                 "{\"case\": \"%s\", \"bytes\": %.0f, \"gbps\": %.3f, "
                 "\"copy_gbps\": %.3f, \"streaming_copy_gbps\": %.3f, "
                 "\"ratio\": %.4f, \"rounds\": %zu}\n",
                 program.name.c_str(), program.bytes, ours, plain, streaming,
                 mpc::bench::median(ratios), ratios.size());
}

Options parseOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    auto value = [&](const char *option, std::string &out) {
      if (text.rfind(option, 0) != 0) return false;
      out = text.substr(std::strlen(option));
      return true;
    };
    std::string rounds;
    if (value("--rounds=", rounds))
      options.rounds = std::max(1, std::atoi(rounds.c_str()));
    else if (text == "--resident")
      options.resident = true;
    else if (!value("--filter=", options.filter) &&
             !value("--asm=", options.assembly) &&
             !value("--json=", options.json)) {
      std::fprintf(stderr,
                   "usage: %s [--filter=TEXT] [--asm=CASE] [--rounds=N] "
                   "[--json=FILE] [--resident]\n",
                   argv[0]);
      std::exit(2);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char **argv) {
  Options options = parseOptions(argc, argv);
  DialectRegistry registry;
  registry
      .insert<mpc::amp::AmpDialect, mpc::train::TrainDialect,
              mpc::exec::ExecDialect, func::FuncDialect, arith::ArithDialect>();
  mpc::train::registerAmpLowering(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();

  std::vector<Case> cases;
  addCases("f32", cases);
  addCases("bf16", cases);
  addCases("f16", cases);
  cases.push_back(adamCase());
  FILE *json =
      options.json.empty() ? nullptr : std::fopen(options.json.c_str(), "w");
  if (options.assembly.empty()) {
    std::printf(
        "%d threads; GB/s, medians; copies move as many bytes; the ratio is to "
        "the plain copy; %s\n",
        omp_get_max_threads(),
        options.resident ? "one set of memory, cached if it fits"
                         : "all from main memory");
    std::printf("%-31s %7s %6s %6s %6s %13s %7s %6s  %s\n", "case", "us",
                "ours", "copy", "nt", "spread", "used", "ratio",
                "launches:items x threads");
  }
  for (const Case &which : cases) {
    if (!options.assembly.empty()) {
      if (which.name == options.assembly)
        std::fputs(Program(which, context, true).assembly.c_str(), stdout);
      continue;
    }
    if (which.name.find(options.filter) == std::string::npos) continue;
    Program program(which, context, options.resident);
    measure(program, options, json);
  }
  if (json) std::fclose(json);
}
