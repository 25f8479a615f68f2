//===- InterpretedProgram.cpp - The f64 reference of mpc compare ----------===//
//
// Runs a model in f64, op by op: generated code with the linalg interpreter,
// catalog kernels with their reference implementations.
//
//===----------------------------------------------------------------------===//

#include "tools/mpc/base/CompilerFiles.h"
#include "tools/mpc/compare/ComparedProgram.h"
#include "tools/mpc/compare/Elements.h"
#include "tools/mpc/options/CompileOptions.h"

#include "kernels/kernel.h"
#include "passes/Driver/ReferenceProgram.h"

#include <cmath>

using namespace mpc::tool;
using mpc::reference::Element;
using mpc::reference::HostTensor;

//===----------------------------------------------------------------------===//
// Kernels of the catalog
//===----------------------------------------------------------------------===//

static std::optional<mpc::kernels::KernelId> findKernel(llvm::StringRef name) {
#define MPC_KERNEL(kernel, id, inputs, outputs, attributes)                    \
  if (name == #kernel)                                                         \
    return mpc::kernels::KernelId::kernel;
#include "kernels/catalog.def"
  return std::nullopt;
}

/// The kernel type for a tensor of the interpreter.
static std::optional<mpc_dtype_t> dtypeOf(mlir::Type type) {
  if (type.isF64())
    return MPC_DTYPE_F64;
  if (type.isF32())
    return MPC_DTYPE_F32;
  if (type.isInteger(64))
    return MPC_DTYPE_I64;
  if (type.isInteger(32))
    return MPC_DTYPE_I32;
  if (type.isInteger(8))
    return MPC_DTYPE_U8;
  if (type.isInteger(1))
    return MPC_DTYPE_BOOL;
  return std::nullopt;
}

/// Runs `op` with the naive version of its kernel.
static llvm::Error runReference(mpc::train::KernelOpInterface op,
                                llvm::ArrayRef<const HostTensor *> operands,
                                llvm::MutableArrayRef<HostTensor> results) {
  auto id = findKernel(op.getKernelName());
  if (!id)
    return llvm::createStringError("the catalog has no kernel '%s'",
                                   op.getKernelName().str().c_str());
  mpc::kernels::KernelDesc desc{*id, {}, {}};
  for (int64_t attribute : op.getKernelAttributes())
    desc.attributes.push_back(attribute);
  std::vector<HostTensor> all;
  for (const HostTensor *operand : operands)
    all.push_back(*operand);
  all.insert(all.end(), results.begin(), results.end());
  std::vector<std::vector<char>> memories;
  std::vector<void *> addresses;
  constexpr size_t kAlignment = mpc::kernels::kOperandAlignment;
  for (HostTensor &tensor : all) {
    auto dtype = dtypeOf(tensor.type.getElementType());
    if (!dtype)
      return llvm::createStringError("a kernel reads a type that the reference "
                                     "does not know");
    desc.operands.push_back({*dtype, tensor.type.getShape().vec()});
    size_t size = mpc_dtype_size(*dtype);
    memories.emplace_back(tensor.elements.size() * size + kAlignment);
    auto address = reinterpret_cast<uintptr_t>(memories.back().data());
    char *begin = memories.back().data() + (kAlignment - address % kAlignment);
    storeElements(*dtype, tensor.elements, begin);
    addresses.push_back(begin);
  }
  std::string error;
  auto kernel = mpc::kernels::make_reference_kernel(desc, &error);
  if (!kernel)
    return llvm::createStringError(error.c_str());
  std::vector<char> scratch(kernel->scratch_bytes() + kAlignment);
  auto base = reinterpret_cast<uintptr_t>(scratch.data());
  if (!kernel->run(addresses.data(),
                   scratch.data() + (kAlignment - base % kAlignment)))
    return llvm::createStringError("the reference kernel failed");
  for (size_t r = 0; r < results.size(); ++r) {
    size_t k = operands.size() + r;
    results[r].elements = loadElements(desc.operands[k].dtype, addresses[k],
                                       results[r].elements.size());
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

namespace {

class InterpretedProgram : public ComparedProgram {
public:
  explicit InterpretedProgram(std::unique_ptr<mpc::ReferenceProgram> made)
      : program(std::move(made)) {
    for (const auto &[name, state] : program->states())
      if (auto dtype = dtypeOf(state.type.getElementType()))
        states[name] = {*dtype, state.type.getShape().vec(), state.isParameter};
    for (const auto &[name, type] : program->outputs("probe"))
      probes.emplace_back(name, type.getNumElements());
  }

  std::vector<Element> read(const std::string &state) const override {
    return program->read(program->states().at(state));
  }

  void write(const std::string &state,
             const std::vector<Element> &elements) override {
    program->write(program->states().at(state), elements);
  }

  void show(const std::vector<mpc_tensor_t> &inputs) override {
    std::map<std::string, HostTensor> results = run("probe", inputs);
    values.clear();
    for (const auto &[name, count] : probes) {
      values.emplace_back();
      for (Element element : results.at(name).elements)
        values.back().push_back(element.real);
    }
  }

  bool update(Dataset &data, const Batches &batches, double &loss,
              double &gradNorm) override {
    std::map<std::string, HostTensor> results;
    for (const std::vector<uint64_t> &samples : batches)
      results = run("step", data.gather(samples));
    loss = results.at("loss").elements.at(0).real;
    gradNorm = results.at("grad_norm").elements.at(0).real;
    for (const auto &[name, state] : program->states()) {
      if (!state.type.getElementType().isF64())
        continue;
      std::vector<Element> elements = program->read(state);
      for (Element &element : elements)
        element.real = float(element.real);
      program->write(state, elements);
    }
    return std::isfinite(loss) && std::isfinite(gradNorm);
  }

  void setTotalSteps(uint64_t steps) override {
    std::string state = program->totalStepsState();
    if (state.empty() || read(state).at(0).whole != 0)
      return;
    Element element;
    element.whole = int64_t(steps);
    write(state, {element});
  }

private:
  std::map<std::string, HostTensor>
  run(llvm::StringRef entry, const std::vector<mpc_tensor_t> &inputs) {
    std::vector<HostTensor> arguments;
    for (auto [i, input] : llvm::enumerate(program->inputs(entry))) {
      HostTensor tensor = HostTensor::zeros(input.second);
      tensor.elements =
          loadElements(inputs[i].dtype, inputs[i].data, tensor.elements.size());
      arguments.push_back(std::move(tensor));
    }
    auto results = program->run(entry, std::move(arguments));
    if (!results)
      throw Failure(Error, "the reference in f64 failed: " +
                               llvm::toString(results.takeError()));
    return std::move(*results);
  }

  std::unique_ptr<mpc::ReferenceProgram> program;
};

} // namespace

std::unique_ptr<ComparedProgram>
mpc::tool::makeReference(CompileOptions options, std::string &report) {
  options.precision = "fp64";
  options.observed.clear();
  options.probe = true;
  LoweredModule lowered;
  CompileResult result = lowerModel(options, lowered);
  if (failed(result.failure)) {
    printMessages(result);
    throw AlreadyReported(exitCodeOf(result.failure));
  }
  report = result.report;
  std::string error;
  auto program =
      ReferenceProgram::create(std::move(lowered), runReference, error);
  if (!program)
    throw Failure(Error, "the reference in f64 cannot be made: " + error);
  return std::make_unique<InterpretedProgram>(std::move(program));
}
