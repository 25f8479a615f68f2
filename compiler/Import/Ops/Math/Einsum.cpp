//===- Einsum.cpp - Import of Einsum --------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

using namespace mlir;
using namespace mpc;

namespace {

/// A letter of the equation, or a dimension of the ellipsis: the one
/// `label - kEllipsis` dimensions before its end.
using Label = int;
constexpr Label kEllipsis = 256;
using Labels = SmallVector<Label>;

/// An operand with a label for each dimension.
struct Term {
  Value value;
  Labels labels;
};

class Einsum {
public:
  explicit Einsum(ImportedNode &node) : node(node) {}

  LogicalResult run();

private:
  bool parse(StringRef equation);
  bool expand(StringRef text, size_t rank, Labels &labels);
  LogicalResult fail(const Twine &why) {
    if (!node.failed())
      node.shapeError() << "the equation '" << equation << "' " << why;
    return failure();
  }
  void takeDiagonals(Term &term);
  void sumOut(Term &term, const Labels &kept);
  Value arrange(const Term &term, const Labels &order);
  Term product(Term lhs, Term rhs, const Labels &kept);

  ImportedNode &node;
  std::string equation;
  std::vector<Term> terms;
  Labels output;
};

} // namespace

static bool has(const Labels &labels, Label label) {
  return llvm::is_contained(labels, label);
}

/// The labels of an operand; an ellipsis takes the dimensions without letters.
bool Einsum::expand(StringRef text, size_t rank, Labels &labels) {
  size_t letters = llvm::count_if(text, [](char c) { return c != '.'; });
  bool hasEllipsis = text.contains("...");
  if (text.count('.') != (hasEllipsis ? 3 : 0) || letters > rank ||
      (!hasEllipsis && letters != rank))
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '.') {
      labels.push_back(static_cast<unsigned char>(text[i]));
      continue;
    }
    for (size_t left = rank - letters; left > 0; --left)
      labels.push_back(kEllipsis + int(left));
    i += 2;
  }
  return true;
}

bool Einsum::parse(StringRef text) {
  auto [inputs, outputs] = text.split("->");
  SmallVector<StringRef> parts;
  inputs.split(parts, ',');
  if (parts.size() != node.numInputs())
    return false;
  size_t most = 0; // The number of dimensions of the longest ellipsis.
  for (auto [i, part] : llvm::enumerate(parts)) {
    Term term{node.floatInput(i), {}};
    if (node.failed() || !expand(part, shapeOf(term.value).size(), term.labels))
      return false;
    for (Label label : term.labels)
      if (label > kEllipsis)
        most = std::max(most, size_t(label - kEllipsis));
    terms.push_back(term);
  }
  if (text.contains("->")) {
    size_t letters = llvm::count_if(outputs, [](char c) { return c != '.'; });
    return expand(outputs, letters + (outputs.contains("...") ? most : 0),
                  output);
  }
  // The implicit output has the letters that occur once, in alphabetical order.
  for (size_t left = most; left > 0; --left)
    output.push_back(kEllipsis + int(left));
  for (Label letter = 0; letter < kEllipsis; ++letter) {
    size_t count = 0;
    for (const Term &term : terms)
      count += llvm::count(term.labels, letter);
    if (count == 1)
      output.push_back(letter);
  }
  return true;
}

/// Takes the diagonal if an operand has a label twice.
void Einsum::takeDiagonals(Term &term) {
  for (size_t i = 0; i < term.labels.size() && !node.failed(); ++i) {
    auto *other = std::find(term.labels.begin() + i + 1, term.labels.end(),
                            term.labels[i]);
    if (other == term.labels.end())
      continue;
    size_t second = other - term.labels.begin();
    SmallVector<int64_t> order, shape;
    Labels labels;
    for (size_t dim = 0; dim < term.labels.size(); ++dim)
      if (dim != i && dim != second) {
        order.push_back(dim);
        labels.push_back(term.labels[dim]);
        shape.push_back(shapeOf(term.value)[dim]);
      }
    int64_t extent = shapeOf(term.value)[i];
    if (shapeOf(term.value)[second] != extent)
      return void(fail("uses one label for dimensions of different extents"));
    order.append({int64_t(i), int64_t(second)});
    labels.push_back(term.labels[i]);
    shape.push_back(extent * extent);
    term.value = node.reshape(node.transpose(term.value, order), shape);
    SmallVector<int64_t> places;
    for (int64_t at = 0; at < extent; ++at)
      places.push_back(at * (extent + 1));
    term.value = node.pick(term.value, shape.size() - 1, places);
    term.labels = labels;
    i = -1;
  }
}

/// Sums over the labels that are not kept.
void Einsum::sumOut(Term &term, const Labels &kept) {
  SmallVector<int64_t> axes;
  Labels left;
  for (auto [dim, label] : llvm::enumerate(term.labels)) {
    if (has(kept, label))
      left.push_back(label);
    else
      axes.push_back(dim);
  }
  if (!axes.empty())
    term.value =
        node.emit<train::ReduceSumOp>(term.value, node.i64s("axes", axes));
  term.labels = left;
}

/// The operand with its dimensions in this order; missing dimensions get extent
/// 1.
Value Einsum::arrange(const Term &term, const Labels &order) {
  SmallVector<int64_t> permutation, shape;
  if (node.failed())
    return nullptr;
  for (Label label : order) {
    auto *found = llvm::find(term.labels, label);
    if (found == term.labels.end()) {
      shape.push_back(1);
      continue;
    }
    permutation.push_back(found - term.labels.begin());
    shape.push_back(shapeOf(term.value)[permutation.back()]);
  }
  return node.reshape(node.transpose(term.value, permutation), shape);
}

Term Einsum::product(Term lhs, Term rhs, const Labels &kept) {
  Labels both = kept;
  llvm::append_range(both, rhs.labels);
  sumOut(lhs, both);
  both = kept;
  llvm::append_range(both, lhs.labels);
  sumOut(rhs, both);
  if (node.failed())
    return lhs;
  Labels batch, left, right, summed;
  for (Label label : lhs.labels)
    (has(rhs.labels, label) ? has(kept, label) ? batch : summed : left)
        .push_back(label);
  for (Label label : rhs.labels)
    if (!has(lhs.labels, label))
      right.push_back(label);
  Labels all = batch;
  llvm::append_range(all, left);
  llvm::append_range(all, right);
  if (summed.empty())
    return {node.emit<train::MulOp>({arrange(lhs, all), arrange(rhs, all)}),
            all};

  // A batched matrix product: batch x left x summed, batch x summed x right.
  auto extentsOf = [&](const Labels &labels) {
    SmallVector<int64_t> extents;
    for (Label label : labels) {
      int64_t extent = 1;
      for (const Term *term : {&lhs, &rhs})
        if (auto *found = llvm::find(term->labels, label);
            found != term->labels.end())
          extent = std::max(extent,
                            shapeOf(term->value)[found - term->labels.begin()]);
      extents.push_back(extent);
    }
    return extents;
  };
  SmallVector<int64_t> batchShape = extentsOf(batch);
  auto matrix = [&](const Term &term, const Labels &rows,
                    const Labels &columns) {
    Labels order = batch;
    llvm::append_range(order, rows);
    llvm::append_range(order, columns);
    Value value = arrange(term, order);
    SmallVector<int64_t> shape(batchShape);
    llvm::append_range(shape, extentsOf(rows));
    llvm::append_range(shape, extentsOf(columns));
    value = node.broadcast(value, shape);
    shape.assign(batchShape.begin(), batchShape.end());
    shape.push_back(ShapedType::getNumElements(extentsOf(rows)));
    shape.push_back(ShapedType::getNumElements(extentsOf(columns)));
    return node.reshape(value, shape);
  };
  Value result = node.emit<train::MatmulOp>(
      {matrix(lhs, left, summed), matrix(rhs, summed, right)});
  return {node.reshape(result, extentsOf(all)), all};
}

LogicalResult Einsum::run() {
  equation = node.stringAttr("equation", "");
  std::string letters;
  for (char c : equation)
    if (c != ' ')
      letters.push_back(c);
  if (node.failed())
    return failure();
  if (!parse(letters))
    return fail("does not name the dimensions of the inputs");
  // Each letter has one extent; a dimension of an ellipsis may be 1, to
  // broadcast.
  llvm::DenseMap<Label, int64_t> extents;
  for (const Term &term : terms)
    for (auto [label, extent] :
         llvm::zip_equal(term.labels, shapeOf(term.value))) {
      int64_t &known = extents.try_emplace(label, extent).first->second;
      bool broadcasts = label > kEllipsis && (known == 1 || extent == 1);
      if (known != extent && !broadcasts)
        return fail("uses one label for dimensions of different extents");
      known = std::max(known, extent);
    }
  for (Label label : output)
    if (!extents.contains(label) || llvm::count(output, label) > 1)
      return fail(
          "names an output dimension that no input has, or names one twice");
  for (Term &term : terms)
    takeDiagonals(term);
  Term result = terms[0];
  llvm::DenseMap<Label, unsigned> numLeft; // Uses of a label in later operands.
  for (const Term &term : llvm::drop_begin(terms))
    for (Label label : term.labels)
      ++numLeft[label];
  for (size_t i = 1; i < terms.size() && !node.failed(); ++i) {
    Labels kept = output;
    for (Label label : terms[i].labels)
      --numLeft[label];
    for (auto [label, count] : numLeft)
      if (count > 0)
        kept.push_back(label);
    result = product(result, terms[i], kept);
  }
  if (!node.failed())
    sumOut(result, output);
  return node.setOutput(0, arrange(result, output));
}

static LogicalResult importEinsum(ImportedNode &node) {
  return Einsum(node).run();
}

ArrayRef<OpRow> mpc::einsumOps() {
  static const OpRow rows[] = {
      {"Einsum", 12, 1, kAnyNumber, 1, importEinsum},
  };
  return rows;
}
