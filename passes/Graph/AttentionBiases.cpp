//===- AttentionBiases.cpp - Biases of attention --------------------------===//

#include "passes/Graph/AttentionBiases.h"

#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "passes/Graph/Match.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

static constexpr size_t kMaxSplitParts = 8;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

template <typename T, typename Resource>
static bool appendElements(Attribute attribute, SmallVectorImpl<double> &to) {
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute))
    if (auto values = dense.tryGetValues<T>(); succeeded(values)) {
      to.append(values->begin(), values->end());
      return true;
    }
  if (auto resource = dyn_cast<Resource>(attribute))
    if (auto values = resource.tryGetAsArrayRef()) {
      to.append(values->begin(), values->end());
      return true;
    }
  return false;
}

/// The elements of a constant, or of a state that never changes; empty for
/// other values.
static SmallVector<double> constantElements(Value value, SymbolTable &symbols) {
  Attribute attribute;
  if (auto constant = value.getDefiningOp<train::ConstantOp>())
    attribute = constant.getValue();
  else if (auto read = value.getDefiningOp<train::ReadOp>())
    if (auto state = symbols.lookup<train::StateOp>(read.getState());
        state && state.getKind() == train::StateKind::Constant)
      attribute = state.getInitialValueAttr();
  SmallVector<double> elements;
  if (attribute && (appendElements<bool, DenseBoolResourceElementsAttr>(
                        attribute, elements) ||
                    appendElements<float, DenseF32ResourceElementsAttr>(
                        attribute, elements) ||
                    appendElements<double, DenseF64ResourceElementsAttr>(
                        attribute, elements)))
    return elements;
  return {};
}

/// Repeats elements of shape `from` as NumPy broadcasts them to `to`, of the
/// same rank.
static SmallVector<double> broadcast(ArrayRef<double> elements,
                                     ArrayRef<int64_t> from,
                                     ArrayRef<int64_t> to) {
  if (from == to)
    return SmallVector<double>(elements);
  SmallVector<double> result(ShapedType::getNumElements(to));
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t rest = i, stride = 1, at = 0;
    for (size_t dim = to.size(); dim-- > 0;) {
      if (from[dim] != 1)
        at += rest % to[dim] * stride;
      rest /= to[dim];
      stride *= from[dim];
    }
    result[i] = elements[at];
  }
  return result;
}

/// Removes repetitions along all dimensions except the last.
static void shrink(SmallVectorImpl<double> &elements,
                   SmallVectorImpl<int64_t> &shape) {
  for (size_t dim = 0; dim + 1 < shape.size(); ++dim) {
    int64_t extent = shape[dim];
    size_t slice =
        ShapedType::getNumElements(ArrayRef(shape).drop_front(dim + 1));
    size_t count = elements.size() / slice;
    auto sliceAt = [&](size_t index) {
      return ArrayRef<double>(elements).slice(index * slice, slice);
    };
    bool repeats = llvm::all_of(llvm::seq<size_t>(0, count), [&](size_t i) {
      return sliceAt(i) == sliceAt(i / extent * extent);
    });
    if (extent == 1 || !repeats)
      continue;
    for (size_t i = 0; i < count / extent; ++i)
      llvm::copy(sliceAt(i * extent), elements.begin() + i * slice);
    elements.truncate(elements.size() / extent);
    shape[dim] = 1;
  }
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The shape of a term with the rank of the scores `leading` x queries x keys.
static SmallVector<int64_t> paddedShape(const ScoreTerm &term) {
  ArrayRef<int64_t> own = shapeOf(term.value);
  SmallVector<int64_t> shape(term.leading.size() + 2 - own.size(), 1);
  llvm::append_range(shape, own);
  return shape;
}

/// The number of `leading` extents that make up the batch, if they and the
/// others, the heads, are separate.
static std::optional<size_t> splitOf(ArrayRef<int64_t> leading, int64_t batch,
                                     int64_t heads) {
  for (size_t count = 0; count <= leading.size(); ++count)
    if (ShapedType::getNumElements(leading.take_front(count)) == batch &&
        ShapedType::getNumElements(leading.drop_front(count)) == heads)
      return count;
  return std::nullopt;
}

/// Broadcasts the extents to those of `to` unless all are 1. Returns their
/// product.
static int64_t expandGroup(MutableArrayRef<int64_t> own, ArrayRef<int64_t> to) {
  if (llvm::any_of(own, [](int64_t extent) { return extent != 1; }))
    llvm::copy(to, own.begin());
  return ShapedType::getNumElements(own);
}

/// Extends the shape of a term by repetition so that it can be reshaped to the
/// returned one, of rank 4.
static SmallVector<int64_t> expandShape(const ScoreTerm &term,
                                        SmallVectorImpl<int64_t> &shape,
                                        ArrayRef<int64_t> scores) {
  ArrayRef<int64_t> leading = term.leading;
  size_t rank = leading.size();
  shape[rank + 1] = scores[3];
  MutableArrayRef<int64_t> own = MutableArrayRef(shape).take_front(rank);
  SmallVector<int64_t> result;
  if (auto batch = splitOf(leading, scores[0], scores[1])) {
    result = {expandGroup(own.take_front(*batch), leading.take_front(*batch)),
              expandGroup(own.drop_front(*batch), leading.drop_front(*batch))};
  } else if (expandGroup(own, leading) == 1) {
    result = {1, 1};
  } else {
    result = {scores[0], scores[1]};
  }
  result.append({shape[rank], scores[3]});
  return result;
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// Replaces a condition that is a conjunction by its operands where that is
/// equivalent: if one is true everywhere, or if masked keys get minus infinity.
/// The terms of the result are in the order in which the model applies them.
static SmallVector<ScoreTerm> splitConjunctions(ArrayRef<ScoreTerm> terms,
                                                SymbolTable &symbols) {
  SmallVector<ScoreTerm> result, left(terms);
  while (!left.empty()) {
    ScoreTerm term = left.pop_back_val();
    term.value = beforeBroadcast(term.value);
    auto conjunction = term.value.getDefiningOp<train::AndOp>();
    bool hidesFalse = term.onTrue == 0;
    if (!term.isCondition() || !conjunction || !hidesFalse) {
      result.push_back(term);
      continue;
    }
    bool mayAdd = std::isinf(term.getHidden());
    SmallVector<ScoreTerm> operands;
    for (Value operand : {conjunction.getLhs(), conjunction.getRhs()}) {
      SmallVector<double> elements =
          constantElements(beforeBroadcast(operand), symbols);
      if (!elements.empty() &&
          llvm::all_of(elements, [](double x) { return x; }))
        continue;
      operands.push_back(term);
      operands.back().value = operand;
    }
    if (operands.size() < 2 || mayAdd)
      llvm::append_range(left, operands);
    else
      result.push_back(term);
  }
  return result;
}

void AttentionBiases::readTerm(const ScoreTerm &term) {
  Part part{term, {}, constantElements(term.value, symbols)};
  SmallVector<int64_t> shape = paddedShape(term), padded = shape;
  part.shape = expandShape(term, shape, scores);
  if (!part.elements.empty()) {
    for (double &element : part.elements)
      element = term.factor * (term.isCondition()
                                   ? (element ? term.onTrue : term.onFalse)
                                   : element);
    part.elements = broadcast(part.elements, padded, shape);
    shrink(part.elements, part.shape);
  }
  parts.push_back(std::move(part));
}

bool AttentionBiases::mayHide(const Part &part) const {
  return part.elements.empty() || llvm::any_of(part.elements, hidesKey);
}

bool AttentionBiases::seesInEveryRow(const Part &part) const {
  for (size_t row = 0; row < part.elements.size(); row += scores[3])
    if (llvm::all_of(ArrayRef(part.elements).slice(row, scores[3]), hidesKey))
      return false;
  return true;
}

/// Sets `causal` if the constant hides all keys after the query. Returns true
/// if nothing is left of it then. A finite number hides keys only as long as
/// the query sees others: not if `isAlone` is false, because another term may
/// hide those. Nor does a part hide keys if `isReplaced`: a later one replaces
/// the scores by a finite number.
bool AttentionBiases::simplify(Part &part, bool isAlone, bool isReplaced) {
  if (part.elements.empty())
    return false;
  int64_t queries = part.shape[2], keys = scores[3];
  bool hidesLater = queries == scores[2] && !isReplaced, changesOthers = false;
  bool isExact = isAlone && seesInEveryRow(part);
  for (auto [i, element] : llvm::enumerate(part.elements)) {
    bool isLater = int64_t(i) % keys > int64_t(i) / keys % queries;
    if (isLater)
      hidesLater &=
          std::isinf(element) ? element < 0 : isExact && hidesKey(element);
    changesOthers |= element != 0 && !(isLater && hidesKey(element));
  }
  if (llvm::all_of(part.elements, [](double element) { return element == 0; }))
    return true;
  causal |= hidesLater;
  return hidesLater && !changesOthers;
}

bool AttentionBiases::read(ArrayRef<ScoreTerm> terms, StringRef *why) {
  for (const ScoreTerm &term : splitConjunctions(terms, symbols))
    readTerm(term);
  auto isAlone = [&](const Part &part) {
    return llvm::all_of(parts, [&](const Part &other) {
      return &other == &part || !mayHide(other);
    });
  };
  for (Part &part : parts) {
    double hidden = part.term.getHidden();
    if (!part.term.replaces || (std::isinf(hidden) && hidden < 0))
      continue;
    if (!hidesKey(hidden)) {
      *why = "a mask replaces scores by a number that does not hide keys";
      return false;
    }
    part.replacesScores = !isAlone(part);
    part.replacesRows = !part.replacesScores &&
                        (part.elements.empty() || !seesInEveryRow(part));
  }
  SmallVector<bool> isDone;
  auto replacesScores = [](const Part &part) { return part.replacesScores; };
  for (auto [i, part] : llvm::enumerate(parts)) {
    ArrayRef<Part> later = ArrayRef(parts).drop_front(i + 1);
    isDone.push_back(
        simplify(part, isAlone(part), llvm::any_of(later, replacesScores)));
  }
  SmallVector<Part, 2> rest;
  for (auto [part, done] : llvm::zip(parts, isDone))
    if (!done)
      rest.push_back(std::move(part));
  parts = std::move(rest);
  return true;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// The number of elements of the sum of the parts whose bits are set.
int64_t AttentionBiases::countElements(unsigned chosen) const {
  SmallVector<int64_t> shape(4, 1);
  for (auto [i, part] : llvm::enumerate(parts))
    if (chosen >> i & 1)
      for (size_t dim = 0; dim < 4; ++dim)
        shape[dim] = std::max(shape[dim], part.shape[dim]);
  return chosen ? ShapedType::getNumElements(shape) : 0;
}

/// The parts of the first bias, as bits: all, unless two sums have less than
/// half as many elements.
unsigned AttentionBiases::chooseFirst() const {
  unsigned all = (1u << std::min(parts.size(), kMaxSplitParts)) - 1;
  if (parts.size() > kMaxSplitParts)
    return all;
  unsigned best = all;
  int64_t fewest = countElements(all) / 2;
  for (unsigned chosen = 1; chosen < all; ++chosen) {
    int64_t count = countElements(chosen) + countElements(all & ~chosen);
    if (count < fewest) {
      fewest = count;
      best = chosen;
    }
  }
  return best;
}

Value AttentionBiases::buildPart(RewriterBase &rewriter, Location loc,
                                 FloatType element, const Part &part) const {
  const ScoreTerm &term = part.term;
  if (!part.elements.empty()) {
    auto type = RankedTensorType::get(part.shape, element);
    SmallVector<APFloat> elements;
    for (double number : part.elements) {
      APFloat rounded(number);
      bool losesInfo;
      rounded.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                      &losesInfo);
      elements.push_back(rounded);
    }
    return train::ConstantOp::create(
        rewriter, loc, ElementsAttr(DenseElementsAttr::get(type, elements)));
  }
  auto number = [&](double value) -> Value {
    auto type = RankedTensorType::get({}, element);
    return train::ConstantOp::create(
        rewriter, loc,
        ElementsAttr(DenseElementsAttr::get(
            type, rewriter.getFloatAttr(element, value))));
  };
  SmallVector<int64_t> shape = paddedShape(term), from = shape;
  expandShape(term, shape, scores);
  Value bias = train::reshapeTo(rewriter, loc, term.value, from);
  if (shape != from)
    bias = train::BroadcastToOp::create(
        rewriter, loc, cast<RankedTensorType>(bias.getType()).clone(shape),
        bias);
  bias = train::reshapeTo(rewriter, loc, bias, part.shape);
  if (term.isCondition())
    return train::SelectOp::create(rewriter, loc, bias,
                                   number(term.factor * term.onTrue),
                                   number(term.factor * term.onFalse));
  if (term.factor != 1)
    bias = train::MulOp::create(rewriter, loc, bias, number(term.factor));
  return bias;
}

/// Zeros instead of queries whose bias hides all keys.
static Value clearQueries(RewriterBase &rewriter, Location loc, Value query,
                          Value bias, double hidden) {
  Value largest = train::ReduceMaxOp::create(rewriter, loc, bias,
                                             ArrayRef<int64_t>{3}, true);
  Value seesKey = train::CompareOp::create(
      rewriter, loc, train::createScalarLike(rewriter, loc, bias, hidden / 2),
      largest, train::Comparison::Less);
  return train::SelectOp::create(
      rewriter, loc, seesKey, query,
      train::createScalarLike(rewriter, loc, query, 0));
}

bool AttentionBiases::isReplacing() const {
  return llvm::any_of(parts, [](const Part &p) { return p.replacesScores; });
}

/// The sum of the parts that are added, if there are any, and what takes the
/// place of scores: 0 where nothing does, else the last number that replaces
/// them, with the parts that are added after it.
SmallVector<Value> AttentionBiases::buildReplacing(RewriterBase &rewriter,
                                                   Location loc,
                                                   FloatType element) const {
  Value sum, others;
  for (const Part &part : parts) {
    Value bias = buildPart(rewriter, loc, element, part);
    auto isZero = [&](Value value) {
      return train::CompareOp::create(
          rewriter, loc, value,
          train::createScalarLike(rewriter, loc, value, 0),
          train::Comparison::Equal);
    };
    if (!part.replacesScores)
      sum = sum ? train::AddOp::create(rewriter, loc, sum, bias) : bias;
    if (!others)
      others = part.replacesScores ? bias : Value();
    else if (part.replacesScores)
      others =
          train::SelectOp::create(rewriter, loc, isZero(bias), others, bias);
    else
      others = train::SelectOp::create(
          rewriter, loc, isZero(others),
          train::createScalarLike(rewriter, loc, others, 0),
          train::AddOp::create(rewriter, loc, others, bias));
  }
  return sum ? SmallVector<Value>{sum, others} : SmallVector<Value>{others};
}

SmallVector<Value> AttentionBiases::build(RewriterBase &rewriter, Location loc,
                                          FloatType element,
                                          Value *query) const {
  if (isReplacing())
    return buildReplacing(rewriter, loc, element);
  unsigned first = chooseFirst();
  Value sums[2];
  for (auto [i, part] : llvm::enumerate(parts)) {
    Value &sum = sums[i < kMaxSplitParts && !(first >> i & 1)];
    Value bias = buildPart(rewriter, loc, element, part);
    if (part.replacesRows)
      *query = clearQueries(rewriter, loc, *query, bias, part.term.getHidden());
    sum = sum ? train::AddOp::create(rewriter, loc, sum, bias) : bias;
  }
  SmallVector<Value> biases;
  for (Value sum : sums)
    if (sum)
      biases.push_back(sum);
  return biases;
}
