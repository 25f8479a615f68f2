//===- Magnitudes.cpp - Norms that errors are relative to -----------------===//

#include "compiler/Report/Model/Magnitudes.h"

#include <algorithm>
#include <cmath>

using namespace mpc::report;
using llvm::ArrayRef;

/// If terms cancel, errors are relative to this share of the terms' norm.
/// Errors of 16-bit terms are a few 2^-9 of the norm, below the default
/// tolerance.
static constexpr double kShare = 1.0 / 16;

/// The share of the terms' norm for a sum that is not 0. Smaller errors occur
/// in f32, too; larger errors of 16 bit count.
static constexpr double kDigitsOfF32 = 0x1p-14;

/// A sum within this many roundings of its terms counts as 0.
static constexpr double kRoundings = 0x1p10;

static double normOf(ArrayRef<double> value) {
  double squares = 0;
  for (double number : value)
    squares += std::isfinite(number) ? number * number : 0;
  return std::sqrt(squares);
}

/// The number of elements of an operand, however many are shown.
static double elementsOf(const Operand &operand) {
  llvm::StringRef type = operand.dtype;
  double width = type.ends_with("16") ? 2 : type == "f64" ? 8 : 4;
  return std::max(double(operand.bytes) / width, 1.0);
}

/// The number of elements of the shape that the operands broadcast to.
static double broadcastElements(const Op &op) {
  double most = 1;
  for (const Operand &operand : op.operands)
    most = std::max(most, elementsOf(operand));
  return most;
}

Magnitudes::Magnitudes(ArrayRef<SharedOp> ops, const Function &reference,
                       double unit)
    : ops(ops), reference(reference), unit(unit), shown(ops.size()) {}

const Magnitudes::Shown *Magnitudes::inputOf(size_t op, size_t operand) const {
  ArrayRef<int64_t> inputs = ops[op].inputs;
  if (operand >= inputs.size() || inputs[operand] < 0 ||
      shown[inputs[operand]].count == 0)
    return nullptr;
  return &shown[inputs[operand]];
}

/// For an op that moves elements and may repeat them.
double Magnitudes::inherited(size_t op, ArrayRef<double> value) const {
  double least = 0;
  for (size_t i = 0; i < ops[op].inputs.size(); ++i)
    if (const Shown *input = inputOf(op, i)) {
      double repeats = double(value.size()) / double(input->count);
      least = std::max(least, input->least * std::sqrt(std::max(repeats, 1.0)));
    }
  return least;
}

/// For a product: scales by the root mean square of the other operands.
double Magnitudes::scaled(size_t op) const {
  const Op &line = reference.ops[ops[op].left];
  double least = 0, elements = broadcastElements(line);
  for (size_t i = 0; i < line.operands.size(); ++i) {
    const Shown *input = inputOf(op, i);
    if (!input)
      continue;
    double size =
        input->least * std::sqrt(elements / elementsOf(line.operands[i]));
    for (size_t k = 0; k < line.operands.size(); ++k)
      if (const Shown *factor = k == i ? nullptr : inputOf(op, k))
        size *= factor->norm / std::sqrt(elementsOf(line.operands[k]));
    least = std::max(least, size);
  }
  return least;
}

double Magnitudes::divided(size_t op) const {
  const Op &line = reference.ops[ops[op].left];
  const Shown *input = inputOf(op, 0), *divisor = inputOf(op, 1);
  if (!input)
    return 0;
  double least = input->least * std::sqrt(broadcastElements(line) /
                                          elementsOf(line.operands[0]));
  if (divisor && divisor->norm > 0)
    least *= std::sqrt(elementsOf(line.operands[1])) / divisor->norm;
  return least;
}

/// For a sum whose terms have the norm `terms` and whose result has `norm`.
double Magnitudes::cancellationFloor(double terms, double norm) const {
  bool isNothing = norm <= kRoundings * unit * terms;
  return terms * (isNothing ? kShare : kDigitsOfF32);
}

/// For products minus sums of products: the gradient of a softmax whose rows
/// are only added up is 0.
double Magnitudes::centred(size_t op, double norm) const {
  const Op &line = reference.ops[ops[op].left];
  double elements = broadcastElements(line), terms = std::sqrt(elements);
  for (size_t i = 0; i < line.operands.size(); ++i)
    if (const Shown *input = inputOf(op, i))
      terms *= input->norm / std::sqrt(elementsOf(line.operands[i]));
  return std::max(scaled(op), cancellationFloor(terms, norm));
}

/// For an operand minus parts of it, as in the gradient of a norm, which is 0
/// if the gradient of the norm's result is constant.
double Magnitudes::projected(size_t op, double norm) const {
  const Op &line = reference.ops[ops[op].left];
  const Shown *input = inputOf(op, 0);
  if (!input)
    return 0;
  double factor = 1;
  const size_t count = line.operands.size();
  if (count > 2)
    for (size_t i : {size_t(2), count - 1})
      if (const Shown *scale = inputOf(op, i))
        factor *= scale->norm / std::sqrt(elementsOf(line.operands[i]));
  return factor *
         std::max(input->least, cancellationFloor(input->norm, norm / factor));
}

/// For a sum of operands.
double Magnitudes::added(size_t op, double norm) const {
  const Op &line = reference.ops[ops[op].left];
  double squares = 0, least = 0, elements = broadcastElements(line);
  for (size_t i = 0; i < line.operands.size(); ++i)
    if (const Shown *input = inputOf(op, i)) {
      double repeats = elements / elementsOf(line.operands[i]);
      squares += input->norm * input->norm * repeats;
      least = std::max(least, input->least * std::sqrt(repeats));
    }
  return std::max(least, cancellationFloor(std::sqrt(squares), norm));
}

/// For a sum of many elements: a sum of numbers with random signs has about
/// their norm.
double Magnitudes::summed(size_t op) const {
  const Shown *input = inputOf(op, 0);
  return input ? std::max(input->least, kShare * input->norm) : 0;
}

/// For sums of products of the elements of two operands, with random signs.
/// Inputs and weights, which are not shown, count as having magnitude 1.
double Magnitudes::contracted(size_t op) const {
  const Op &line = reference.ops[ops[op].left];
  double least = 0;
  for (size_t i : {0, 1}) {
    const Shown *input = inputOf(op, i), *factor = inputOf(op, 1 - i);
    if (!input)
      continue;
    const double elements = elementsOf(line.operands[1 - i]);
    const double size = factor ? factor->norm / std::sqrt(elements) : 1;
    least = std::max(least, input->least * size /
                                std::sqrt(elementsOf(line.operands[i])));
  }
  return least * std::sqrt(double(line.cost.flops) / 2);
}

double Magnitudes::leastNormOf(size_t op, size_t result,
                               ArrayRef<double> value) {
  const Op &line = reference.ops[ops[op].left];
  double norm = normOf(value), least = 0;
  switch (line.errorPropagationOf(result)) {
  case ErrorPropagation::Other:
    if (line.precisionClass == "transparent")
      least = inherited(op, value);
    break;
  case ErrorPropagation::Moved:
    least = inherited(op, value);
    break;
  case ErrorPropagation::Divided:
    least = divided(op);
    break;
  case ErrorPropagation::Scaled:
    least = scaled(op);
    break;
  case ErrorPropagation::Centred:
    least = centred(op, norm);
    break;
  case ErrorPropagation::Projected:
    least = projected(op, norm);
    break;
  case ErrorPropagation::Added:
    least = added(op, norm);
    break;
  case ErrorPropagation::Summed:
    least = summed(op);
    break;
  case ErrorPropagation::Contracted:
    least = contracted(op);
    break;
  case ErrorPropagation::Averaged: {
    double terms = elementsOf(line.operands[0]) /
                   double(std::max<size_t>(value.size(), 1));
    least = summed(op) / std::max(terms, 1.0);
    break;
  }
  }
  Shown &own = shown[op];
  if (own.count == 0) {
    own.norm = norm;
    own.count = value.size();
  }
  own.least = std::max(own.least, least);
  return least;
}
