//===- Explain.cpp - Explanation of a node's format -----------------------===//

#include "compiler/Report/Compare/Change.h"
#include "compiler/Report/Text/Render.h"
#include "compiler/Report/Text/Text.h"
#include "compiler/Support/UserInput/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

#include <set>

using namespace mpc;
using namespace mpc::report;
using llvm::StringRef;

/// Width of the labels.
static constexpr size_t kLabel = 12;
/// Longer chains of reasons and lists of readers are cut.
static constexpr size_t kMaxLinks = 12, kMaxReaders = 6;

namespace {

/// Writes the explanation of one op of a function.
class Explainer {
public:
  Explainer(llvm::raw_ostream &os, const Function &function, size_t line,
            size_t width)
      : os(os), function(function), line(line), op(function.ops[line]),
        width(width) {}

  void run() {
    printWrapped(os,
                 nameOf(op) + ": " + op.op + " in '" + function.name + "', " +
                     mpc::report::nameOf(op.phase).str() +
                     (op.module.empty() ? "" : ", module " + op.module),
                 0, width);
    say("computes", describeFormat());
    say("rule", describeRule(op));
    if (!op.range.empty())
      say("range", op.range);
    for (const Operand &operand : op.operands)
      say("reads", describe(operand));
    printReaders();
    printChain();
    say("to change", describeChange());
  }

private:
  void say(StringRef label, const std::string &text) {
    os.indent(2) << label;
    size_t column = 2 + kLabel;
    std::vector<std::string> lines =
        wrap(text, width > column ? width - column : 1);
    os.indent(kLabel - label.size()) << lines.front() << '\n';
    for (const std::string &more : llvm::drop_begin(lines))
      os.indent(column) << more << '\n';
  }

  static std::string nameOf(const Op &op) {
    std::string name = op.node.empty() ? op.op : op.node;
    return op.type.empty() ? name : name + " (" + op.type + ")";
  }

  static std::string describeRule(const Op &op) {
    return op.rule + " [" + op.ruleId + "]: " + op.reason;
  }

  std::string describeFormat() const {
    std::string text = op.format();
    if (!op.sumType.empty())
      text += ", sums in " + op.sumType;
    return text + "; class " + op.precisionClass + "; " +
           shorten(op.cost.flops) + "FLOP, " + inBytes(op.cost.bytes);
  }

  std::string describe(const Origin &origin) const {
    if (origin.op >= 0)
      return nameOf(function.ops[origin.op]);
    if (!origin.state.empty())
      return "state '" + origin.state + "'";
    return origin.isInput ? "an input" : "a value not listed in this report";
  }

  std::string describe(const Operand &operand) const {
    std::string text = operand.dtype;
    if (operand.bytes > 0)
      text += ", " + inBytes(operand.bytes);
    text += ": " + describe(operand.origin);
    if (operand.isPinned)
      text += ", pinned";
    if (operand.cast >= 0) {
      const Cast &cast = function.casts[operand.cast];
      text += ", cast from " + cast.from + " (" + inBytes(cast.bytes) + ")";
    }
    return text;
  }

  void printReaders() {
    size_t readers = 0;
    for (const Op &reader : function.ops)
      for (const Operand &operand : reader.operands) {
        if (operand.origin.op != static_cast<int64_t>(line))
          continue;
        if (++readers <= kMaxReaders)
          say("read by", nameOf(reader) + ", as " + operand.dtype +
                             (operand.cast >= 0 ? ", cast" : ""));
      }
    if (readers > kMaxReaders)
      say("", "and " + count(readers - kMaxReaders, "more"));
  }

  /// The line that causes `at` to be f32: the first of its operands that is
  /// computed in f32; -1 if there is no such cause.
  int64_t wideSource(const Op &at) const {
    if (at.ruleId != "cut.reads-f32")
      return -1;
    for (const Operand &operand : at.operands)
      if (operand.origin.op >= 0 && operand.cast < 0 &&
          function.ops[operand.origin.op].isWide())
        return operand.origin.op;
    return -1;
  }

  void printChain() {
    std::set<int64_t> seen = {static_cast<int64_t>(line)};
    int64_t at = wideSource(op);
    for (size_t links = 0; at >= 0 && seen.insert(at).second; ++links) {
      const Op &source = function.ops[at];
      if (links == kMaxLinks)
        return say("for", "...");
      say("for", nameOf(source) + " is " + source.format() + ", " +
                     describeRule(source));
      at = wideSource(source);
    }
  }

  /// Returns true if options cannot change a decision by this rule.
  static bool isFixed(StringRef rule) {
    return rule == "pin" || rule == "gradient" || rule == "guard" ||
           rule == "loss scaling";
  }

  /// Turns the reason "keep-fp32=head" into "option 'keep-fp32'=head".
  static std::string describeOption(llvm::StringRef reason) {
    auto [name, value] = reason.ltrim('-').split('=');
    return ("option '" + name + "'=" + value).str();
  }

  std::string describeChange() const {
    if (op.rule == "precision")
      return "no value is narrowed with " + op.reason;
    if (op.phase == Phase::Update || isFixed(op.rule))
      return "no option overrides this";
    bool wide = op.isWide();
    if (op.rule == "user option")
      return "compile without " + describeOption(op.reason);
    std::string option = wide ? "option 'force-low'" : "option 'keep-fp32'";
    std::string text = option + "='^" + llvm::Regex::escape(op.node) + "$': ";
    Change change = estimateChange(function, line);
    int64_t bytes = change.bytes < 0 ? -change.bytes : change.bytes;
    text += "moves about " + inBytes(static_cast<uint64_t>(bytes)) +
            (change.bytes < 0 ? " less" : " more");
    if (change.casts != 0)
      text += std::string(" and ") + (change.casts < 0 ? "removes " : "adds ") +
              count(std::abs(change.casts), "cast");
    return text + ", all else being equal";
  }

  llvm::raw_ostream &os;
  const Function &function;
  size_t line;
  const Op &op;
  size_t width;
};

} // namespace

/// Returns true if the user selects this op, by the name of its node or of the
/// node whose gradient it is.
static bool isSelected(const Op &op, StringRef node) {
  return !op.node.empty() && (op.node == node || op.forwardNode() == node);
}

llvm::Error mpc::report::printExplanation(llvm::raw_ostream &os,
                                          const Report &report, StringRef node,
                                          const Selection &selection,
                                          size_t width) {
  auto functions = selectFunctions(report, selection);
  if (!functions)
    return functions.takeError();
  // The principal function comes first, unless the user selects a function.
  std::vector<const Function *> order = std::move(*functions);
  if (selection.function.empty() && report.principal())
    order.insert(order.begin(), report.principal());
  bool found = false;
  std::vector<StringRef> names;
  for (const Function *function : order) {
    for (auto [line, op] : llvm::enumerate(function->ops)) {
      names.push_back(op.forwardNode());
      if (!isSelected(op, node))
        continue;
      if (found)
        os << '\n';
      found = true;
      Explainer(os, *function, line, width).run();
    }
    if (found)
      return llvm::Error::success();
  }
  return llvm::createStringError("no op belongs to a node '" + node.str() +
                                 "'" + describeNearest(node, names));
}
