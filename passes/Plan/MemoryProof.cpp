//===- MemoryProof.cpp - Proof that reads find the right tensors ----------===//

#include "passes/Plan/MemoryProof.h"

#include "compiler/Analysis/KernelDomain.h"
#include "compiler/Catalog/Catalog.h"
#include "passes/Plan/Storage.h"

using namespace mlir;
using namespace mpc;

MemoryProof::MemoryProof(exec::EntryOp entry, const SymbolTable &symbols,
                         ArrayRef<train::StateOp> states, Fail fail)
    : entry(entry), symbols(symbols), states(states), fail(fail) {}

void MemoryProof::run() {
  exec::DataflowAttr dataflow = entry.getDataflowAttr();
  if (!dataflow)
    return fail(entry.getLoc(),
                "'" + entry.getSymName() + "' lacks its dataflow");
  if (dataflow.getInputs().size() != entry.getInputs().size() ||
      dataflow.getOutputs().size() != entry.getOutputs().size())
    return fail(entry.getLoc(), "the dataflow of '" + entry.getSymName() +
                                    "' has other inputs or outputs");
  for (auto part : dataflow.getParts().getAsRange<exec::PartAttr>())
    parts[part.getWhole()].push_back(part);
  for (auto &[whole, list] : parts)
    llvm::sort(list, [](exec::PartAttr a, exec::PartAttr b) {
      return a.getAt() < b.getAt();
    });
  begin();
  for (Operation &op : entry.getBody().front())
    step(&op);
  end();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static std::string nameOf(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>("name"))
    return name.str();
  if (auto launch = dyn_cast<exec::LaunchOp>(op))
    return launch.getKernel().str();
  return op->getAttrOfType<StringAttr>("kernel").str();
}

void MemoryProof::place(const Bytes &bytes, TensorInMemory tensor,
                        Operation *writer) {
  if (bytes.begin >= bytes.end)
    return;
  Memory &ranges = memory(bytes.space);
  auto it = ranges.lower_bound(bytes.begin);
  if (it != ranges.begin()) {
    auto before = std::prev(it);
    if (before->second.end > bytes.end)
      ranges.emplace(bytes.end, before->second);
    before->second.end = std::min(before->second.end, bytes.begin);
  }
  while (it != ranges.end() && it->first < bytes.end) {
    if (it->second.end > bytes.end)
      ranges.emplace(bytes.end, it->second);
    it = ranges.erase(it);
  }
  ranges.emplace(bytes.begin, WrittenRange{bytes.end, tensor, writer});
}

const exec::PartAttr *MemoryProof::partAt(const TensorInMemory &tensor,
                                          int64_t byte) const {
  auto list = parts.find(tensor.number);
  if (list == parts.end())
    return nullptr;
  int64_t at = byte - tensor.base;
  const auto *next =
      llvm::upper_bound(list->second, at, [](int64_t at, exec::PartAttr part) {
        return at < part.getAt();
      });
  if (next == list->second.begin())
    return nullptr;
  const exec::PartAttr *part = std::prev(next);
  return at < part->getAt() + part->getSize() ? part : nullptr;
}

std::optional<int64_t> MemoryProof::findFault(const Bytes &bytes,
                                              TensorInMemory tensor) const {
  const Memory &ranges = memory(bytes.space);
  int64_t byte = bytes.begin;
  while (byte < bytes.end) {
    auto it = ranges.upper_bound(byte);
    const WrittenRange *range =
        it == ranges.begin() ? nullptr : &std::prev(it)->second;
    if (range && range->end > byte && range->tensor == tensor) {
      byte = range->end;
      continue;
    }
    // A packed tensor consists of its parts.
    const exec::PartAttr *part = partAt(tensor, byte);
    if (!part)
      return byte;
    int64_t begin = tensor.base + part->getAt();
    TensorInMemory own{part->getValue().getNumber(),
                       begin - part->getValue().getOffset()};
    int64_t end = std::min(bytes.end, begin + part->getSize());
    if (auto fault = findFault({bytes.space, byte, end}, own))
      return fault;
    byte = end;
  }
  return std::nullopt;
}

void MemoryProof::expect(Location loc, const Twine &what, const Bytes &bytes,
                         TensorInMemory tensor) {
  std::optional<int64_t> fault = findFault(bytes, tensor);
  if (!fault)
    return;
  const Memory &ranges = memory(bytes.space);
  auto it = ranges.upper_bound(*fault);
  const WrittenRange *range =
      it == ranges.begin() ? nullptr : &std::prev(it)->second;
  std::string found = "nothing was written there";
  if (range && range->end > *fault) {
    found = "that holds byte " + std::to_string(*fault - range->tensor.base) +
            " of tensor " + std::to_string(range->tensor.number);
    found += range->writer ? ", written by '" + nameOf(range->writer) + "'"
                           : ", there from the beginning";
  }
  fail(loc, what + " is tensor " + Twine(tensor.number) + "; its byte " +
                Twine(*fault - tensor.base) + " should be byte " +
                Twine(*fault) + " of the " + exec::stringifySpace(bytes.space) +
                " memory, but " + found);
}

//===----------------------------------------------------------------------===//
// Begin and end of a call
//===----------------------------------------------------------------------===//

MemoryProof::Bytes MemoryProof::bytesOf(exec::BufferAttr buffer) {
  return {buffer.getSpace(), buffer.getOffset(),
          buffer.getOffset() + byteSize(buffer.getType())};
}

MemoryProof::TensorInMemory MemoryProof::tensorIn(exec::BufferAttr buffer,
                                                  exec::ValueAttr value) {
  return {value.getNumber(), buffer.getOffset() - value.getOffset()};
}

static bool overlap(int64_t begin, int64_t end, int64_t otherBegin,
                    int64_t otherEnd) {
  return std::max(begin, otherBegin) < std::min(end, otherEnd);
}

/// The buffer of a state.
static exec::BufferAttr bufferOf(train::StateOp state) {
  return exec::BufferAttr::get(
      state.getContext(), exec::Space::State,
      state->getAttrOfType<IntegerAttr>("exec.offset").getInt(),
      cast<RankedTensorType>(state.getType()));
}

void MemoryProof::begin() {
  exec::DataflowAttr dataflow = entry.getDataflowAttr();
  int64_t unread = 0;
  for (train::StateOp state : states) {
    auto bytes = bytesOf(bufferOf(state));
    // States that are not read get negative numbers.
    auto value = dataflow.getReads().getAs<exec::ValueAttr>(state.getSymName());
    TensorInMemory tensor{value ? value.getNumber() : --unread, bytes.begin};
    unchanged[state] = tensor;
    place(bytes, tensor, nullptr);
  }
  for (train::StateOp state : states)
    expect(state.getLoc(), "state '" + state.getSymName() + "'",
           bytesOf(bufferOf(state)), unchanged[state]);

  SmallVector<Operand> inputs;
  for (auto [binding, value] :
       llvm::zip(entry.getInputs().getAsRange<DictionaryAttr>(),
                 dataflow.getInputs().getAsRange<exec::ValueAttr>())) {
    auto buffer = binding.getAs<exec::BufferAttr>("buffer");
    inputs.push_back({bytesOf(buffer), tensorIn(buffer, value)});
    place(inputs.back().bytes, inputs.back().tensor, nullptr);
  }
  for (auto [i, input] : llvm::enumerate(inputs))
    expect(entry.getLoc(),
           "input " + Twine(i) + " of '" + entry.getSymName() + "'",
           input.bytes, input.tensor);
}

void MemoryProof::end() {
  exec::DataflowAttr dataflow = entry.getDataflowAttr();
  for (auto [i, binding, value] :
       llvm::enumerate(entry.getOutputs().getAsRange<DictionaryAttr>(),
                       dataflow.getOutputs().getAsRange<exec::ValueAttr>())) {
    auto buffer = binding.getAs<exec::BufferAttr>("buffer");
    expect(entry.getLoc(),
           "output " + Twine(i) + " of '" + entry.getSymName() + "'",
           bytesOf(buffer), tensorIn(buffer, value));
  }
  for (train::StateOp state : states) {
    exec::BufferAttr buffer = bufferOf(state);
    auto value =
        dataflow.getWrites().getAs<exec::ValueAttr>(state.getSymName());
    expect(state.getLoc(),
           "what '" + entry.getSymName() + "' leaves in state '" +
               state.getSymName() + "'",
           bytesOf(buffer), value ? tensorIn(buffer, value) : unchanged[state]);
  }
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

std::optional<unsigned> MemoryProof::countInputs(Operation *op) const {
  if (auto call = dyn_cast<exec::CallOp>(op))
    return kernelInputs(call.getKernel());
  return symbols.lookup<func::FuncOp>(cast<exec::LaunchOp>(op).getKernel())
      .getNumArguments();
}

bool MemoryProof::mayShare(Operation *op, unsigned input,
                           unsigned output) const {
  if (auto call = dyn_cast<exec::CallOp>(op))
    return output == 0 && kernelInPlaceInput(call.getKernel()) == input;
  auto launch = cast<exec::LaunchOp>(op);
  auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
  return !kernel.isExternal() && (continuedArgument(kernel, output) == input ||
                                  mayUpdateInPlace(kernel, input, output));
}

void MemoryProof::checkSharing(Operation *op, ArrayRef<Operand> operands,
                               unsigned inputs) {
  for (unsigned output = inputs; output < operands.size(); ++output)
    for (unsigned other = 0; other < output; ++other) {
      const Bytes &a = operands[output].bytes, &b = operands[other].bytes;
      if (a.space != b.space || !overlap(a.begin, a.end, b.begin, b.end))
        continue;
      std::string what = "operand " + std::to_string(output) + " of '" +
                         nameOf(op) + "', a result, ";
      if (other >= inputs)
        fail(op->getLoc(),
             what + "overlaps operand " + Twine(other) + ", another");
      else if (a.begin != b.begin || a.end != b.end)
        fail(op->getLoc(), what + "overlaps a part of operand " + Twine(other) +
                               ", which is read");
      else if (!mayShare(op, other, output - inputs))
        fail(op->getLoc(),
             what + "takes the place of operand " + Twine(other) +
                 ", but the kernel may read its elements after writing there");
    }
}

void MemoryProof::step(Operation *op) {
  auto buffers = op->getAttrOfType<ArrayAttr>("operands");
  auto values = op->getAttrOfType<ArrayAttr>("values");
  if (!values || values.size() != buffers.size())
    return fail(op->getLoc(),
                "'" + nameOf(op) + "' lacks the dataflow of its operands");
  SmallVector<Operand> operands;
  for (auto [buffer, value] : llvm::zip(buffers.getAsRange<exec::BufferAttr>(),
                                        values.getAsRange<exec::ValueAttr>()))
    operands.push_back({bytesOf(buffer), tensorIn(buffer, value)});
  unsigned inputs = *countInputs(op);
  for (unsigned i = 0; i < inputs; ++i)
    expect(op->getLoc(), "operand " + Twine(i) + " of '" + nameOf(op) + "'",
           operands[i].bytes, operands[i].tensor);
  checkSharing(op, operands, inputs);
  for (const Operand &result : ArrayRef(operands).drop_front(inputs))
    place(result.bytes, result.tensor, op);
}
