//===- ComparedProgram.cpp - A program that mpc compare runs --------------===//

#include "tools/mpc/compare/ComparedProgram.h"
#include "tools/mpc/base/Memory.h"
#include "tools/mpc/compare/Elements.h"

using namespace mpc::tool;

static constexpr const char *kEntry = "probe";

//===----------------------------------------------------------------------===//
// Any program
//===----------------------------------------------------------------------===//

void ComparedProgram::take(const ComparedProgram &other,
                           const ComparedProgram *than) {
  for (const auto &[name, state] : states) {
    auto found = other.states.find(name);
    if (found == other.states.end() || (than && than->states.count(name)))
      continue;
    const State &from = found->second;
    const bool sameFormat =
        from.dtype == state.dtype || (from.isFloat() && state.isFloat());
    if (!state.isRounded() && sameFormat && from.shape == state.shape)
      write(name, other.read(name));
  }
}

std::vector<double> ComparedProgram::numbers(const std::string &state) const {
  std::vector<double> result;
  for (Element element : read(state))
    result.push_back(element.real);
  return result;
}

//===----------------------------------------------------------------------===//
// A compiled program
//===----------------------------------------------------------------------===//

CompiledProgram::CompiledProgram(const std::string &package,
                                 const SessionSettings &settings)
    : program(package), session(program, settings) {
  for (const mpc_state_info_t &info : program.states())
    states[info.name] = {info.dtype,
                         {info.shape, info.shape + info.rank},
                         info.is_parameter != 0};
  outputs = program.outputs(kEntry);
  for (const Binding &output : outputs) {
    size_t count = output.shape.empty() ? 1 : output.shape[0];
    probes.emplace_back(output.name, count);
    shown.emplace_back(count);
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    tensors.push_back({sizeof(mpc_tensor_t),
                       outputs[i].dtype,
                       static_cast<uint32_t>(outputs[i].shape.size()),
                       outputs[i].shape.data(),
                       shown[i].data(),
                       {}});
}

static size_t countOf(const std::vector<int64_t> &shape) {
  size_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// A tensor that describes `state`, with data in a separate buffer.
static mpc_tensor_t tensorOf(const ComparedProgram::State &state,
                             const std::string &name,
                             std::vector<char> &memory) {
  resizeOrThrow(memory, countOf(state.shape) * mpc_dtype_size(state.dtype),
                "the state '" + name + "'");
  return {sizeof(mpc_tensor_t),
          state.dtype,
          static_cast<uint32_t>(state.shape.size()),
          state.shape.data(),
          memory.data(),
          {}};
}

std::vector<ComparedProgram::Element>
CompiledProgram::read(const std::string &name) const {
  const State &state = states.at(name);
  std::vector<char> memory;
  mpc_tensor_t tensor = tensorOf(state, name, memory);
  check(mpc_session_read_state(session.get(), name.c_str(), &tensor), name);
  return loadElements(state.dtype, tensor.data, countOf(state.shape));
}

void CompiledProgram::write(const std::string &name,
                            const std::vector<Element> &elements) {
  const State &state = states.at(name);
  std::vector<char> memory;
  mpc_tensor_t tensor = tensorOf(state, name, memory);
  storeElements(state.dtype, elements, tensor.data);
  check(mpc_session_write_state(session.get(), name.c_str(), &tensor), name);
}

void CompiledProgram::show(const std::vector<mpc_tensor_t> &inputs) {
  check(mpc_session_run(session.get(), kEntry, inputs.data(), inputs.size(),
                        tensors.data(), tensors.size()));
  values.clear();
  for (const std::vector<float> &numbers : shown)
    values.emplace_back(numbers.begin(), numbers.end());
}

bool CompiledProgram::update(Dataset &data, const Batches &batches,
                             double &loss, double &gradNorm) {
  mpc_step_info_t info = {};
  if (!tool::update(session, data, batches, info))
    return false;
  loss = info.update_loss;
  gradNorm = info.grad_norm;
  return true;
}

void CompiledProgram::setTotalSteps(uint64_t steps) {
  tool::setTotalSteps(session, program, steps);
}
