//===- interpreter.cpp - Kernels by the reference interpreter -------------===//

#include "test/codegen/harness.h"

#include "compiler/Reference/Interpreter.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::test;
using reference::HostTensor;

double mpc::test::roundTo(Type element, double value) {
  return reference::roundTo(element, value);
}

static HostTensor tensorOf(Type type, const Elements &values) {
  HostTensor tensor = HostTensor::zeros(cast<RankedTensorType>(type));
  for (auto [element, value] : llvm::zip_equal(tensor.elements, values))
    if (tensor.isFloat())
      element.real = value;
    else
      element = reference::wholeOf(tensor.type.getElementType(),
                                   uint64_t(int64_t(value)));
  return tensor;
}

static Elements elementsOf(const HostTensor &tensor) {
  Elements values;
  for (reference::Element element : tensor.elements)
    values.push_back(tensor.isFloat() ? element.real : double(element.whole));
  return values;
}

std::vector<Elements>
mpc::test::interpret(func::FuncOp kernel, const std::vector<Elements> &inputs) {
  std::vector<HostTensor> arguments;
  for (auto [type, input] : llvm::zip_equal(kernel.getArgumentTypes(), inputs))
    arguments.push_back(tensorOf(type, input));
  auto results = reference::Interpreter().run(kernel, std::move(arguments));
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  std::vector<Elements> elements;
  for (const HostTensor &result : *results)
    elements.push_back(elementsOf(result));
  return elements;
}
