//===- Modules.cpp - Modules of a network ---------------------------------===//

#include "compiler/Report/Model/Modules.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <map>

using namespace mpc::report;
using llvm::StringRef;

/// If more nodes than this are in no module, they share a line.
static constexpr size_t kMaxLooseNodes = 12;
/// Deeper modules are merged with their ancestor at this depth: nobody reads
/// them, and names are untrusted.
static constexpr size_t kMaxDepth = 32;

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

std::string mpc::report::modulePath(StringRef node) {
  node.consume_back(kGradientSuffix);
  if (node == kOptimizerNode || node == kLossNode)
    return node.str();
  char separator = node.contains('/') ? '/' : '.';
  llvm::SmallVector<StringRef> parts;
  node.split(parts, separator, /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (parts.empty())
    return "";
  parts.pop_back();
  // PyTorch repeats the parent's name: "blocks.0" in "blocks".
  llvm::SmallVector<StringRef> kept;
  for (StringRef part : parts) {
    if (!kept.empty() && part.size() > kept.back().size() &&
        part.starts_with(kept.back()) && part[kept.back().size()] == '.')
      kept.pop_back();
    kept.push_back(part);
  }
  return llvm::join(kept, ".");
}

static llvm::SmallVector<StringRef> segmentsOf(StringRef path) {
  llvm::SmallVector<StringRef> segments;
  llvm::SplitString(path, segments, "./");
  return segments;
}

bool mpc::report::liesIn(StringRef module, StringRef wanted) {
  llvm::SmallVector<StringRef> path = segmentsOf(module),
                               part = segmentsOf(wanted);
  return !part.empty() && llvm::search(path, part) != path.end();
}

//===----------------------------------------------------------------------===//
// The tree
//===----------------------------------------------------------------------===//

namespace {

/// A module while its ops are being collected.
struct Node {
  std::string segment, path;
  Cost cost;
  std::vector<std::string> own; ///< Descriptions of its own ops.
  std::vector<std::unique_ptr<Node>> children;
  llvm::StringMap<Node *> byName;

  Node &child(StringRef name) {
    Node *&found = byName[name];
    if (!found) {
      children.push_back(std::make_unique<Node>());
      found = children.back().get();
      found->segment = name.str();
      found->path = path.empty() ? name.str() : path + "." + name.str();
    }
    return *found;
  }
};

} // namespace

/// The properties in which equal blocks must agree. Bytes in a reason do not
/// count: the formats show their effect.
static std::string describe(const Op &op) {
  return op.op + '|' + op.format() + '|' + op.rule + '|' +
         std::to_string(op.cost.flops) + '|' + std::to_string(op.cost.bytes);
}

static bool isNumber(StringRef text) {
  return !text.empty() && llvm::all_of(text, llvm::isDigit);
}

static std::vector<Module> finish(Node &node, StringRef prefix);

/// `prefix` is the text before the name of the module, such as "h.".
static Module finishOne(Node &node, StringRef prefix) {
  Module module;
  module.label = (prefix + node.segment).str();
  module.path = node.path;
  module.cost = node.cost;
  module.children = finish(node, "");
  llvm::sort(node.own);
  uint64_t hash = llvm::hash_combine_range(node.own);
  for (const Module &child : module.children)
    hash = llvm::hash_combine(hash, child.label, child.signature, child.times);
  module.signature = hash;
  return module;
}

static void addAll(Module &to, const Module &from) {
  to.cost += from.cost;
  for (auto [mine, other] : llvm::zip(to.children, from.children))
    addAll(mine, other);
}

/// Joins consecutive equal modules with numbers as names: "h.0", "h.1".
static std::vector<Module> fold(std::vector<Module> modules) {
  std::vector<Module> folded;
  auto counts = [](const Module &module) {
    return isNumber(StringRef(module.path).rsplit('.').second);
  };
  std::string last;
  for (Module &module : modules) {
    Module *before = folded.empty() ? nullptr : &folded.back();
    if (before && counts(*before) && counts(module) &&
        before->signature == module.signature) {
      if (before->times++ == 1)
        last = before->label;
      addAll(*before, module);
      before->label = last + " ... " + module.label;
    } else {
      folded.push_back(std::move(module));
    }
  }
  return folded;
}

static std::vector<Module> finish(Node &node, StringRef prefix) {
  std::vector<Module> modules;
  for (std::unique_ptr<Node> &child : node.children) {
    Node *at = child.get();
    std::string label = prefix.str();
    // A module that contains only one other module is merged with it.
    while (at->own.empty() && at->children.size() == 1) {
      label += at->segment + ".";
      at = at->children.front().get();
    }
    bool isList = at->own.empty() && !at->children.empty() &&
                  llvm::all_of(at->children, [](const auto &grandchild) {
                    return isNumber(grandchild->segment);
                  });
    if (isList)
      llvm::append_range(modules, finish(*at, label + at->segment + "."));
    else
      modules.push_back(finishOne(*at, label));
  }
  return fold(std::move(modules));
}

std::vector<Module> mpc::report::findModules(const Function &function) {
  std::vector<Cost> costs;
  for (const Op &op : function.ops)
    costs.push_back(op.cost);
  for (auto [i, cast] : llvm::enumerate(function.casts))
    if (int64_t line = function.lineOf(i); line >= 0) {
      ++costs[line].casts;
      costs[line].castBytes += cast.bytes;
    }
  llvm::StringSet<> loose;
  for (const Op &op : function.ops)
    if (op.module.empty())
      loose.insert(op.forwardNode());

  Node root;
  auto add = [&](const Op &op, const Cost &cost) {
    Node *node = &root;
    llvm::SmallVector<StringRef> segments = segmentsOf(op.module);
    if (op.module.empty())
      segments = {loose.size() > kMaxLooseNodes ? StringRef("(no module)")
                                                : op.forwardNode()};
    for (StringRef segment : llvm::ArrayRef(segments).take_front(kMaxDepth)) {
      node = &node->child(segment);
      node->cost += cost;
    }
    node->own.push_back(describe(op));
  };
  auto isLast = [](const Op &op) {
    return op.module == kLossNode || op.module == kOptimizerNode;
  };
  for (auto [op, cost] : llvm::zip(function.ops, costs))
    if (!isLast(op))
      add(op, cost);
  for (auto [op, cost] : llvm::zip(function.ops, costs))
    if (isLast(op))
      add(op, cost);
  return finish(root, "");
}

//===----------------------------------------------------------------------===//
// Lists of modules
//===----------------------------------------------------------------------===//

static void list(const std::vector<Module> &modules, size_t depth,
                 size_t deepest, std::vector<ModuleRow> &rows) {
  for (const Module &module : modules) {
    rows.push_back(
        {depth, module.label, module.path, module.times, module.cost});
    if (depth < deepest)
      list(module.children, depth + 1, deepest, rows);
  }
}

/// Merges all but the largest rows into one.
static std::vector<ModuleRow> keepLargest(std::vector<ModuleRow> rows,
                                          size_t count) {
  std::vector<uint64_t> sizes;
  for (const ModuleRow &row : rows)
    sizes.push_back(row.cost.bytes);
  llvm::sort(sizes, std::greater<>());
  uint64_t least = sizes[count - 1];
  std::vector<ModuleRow> kept;
  ModuleRow rest;
  rest.times = 0;
  for (ModuleRow &row : rows) {
    if (row.cost.bytes > least) {
      kept.push_back(std::move(row));
      continue;
    }
    rest.times += row.times;
    rest.cost += row.cost;
  }
  rest.label = std::to_string(rest.times) + " smaller modules";
  rest.times = 1;
  kept.push_back(std::move(rest));
  return kept;
}

std::vector<ModuleRow>
mpc::report::listModules(const std::vector<Module> &modules, size_t rows) {
  std::vector<ModuleRow> best;
  for (size_t deepest = 0; deepest < kMaxDepth; ++deepest) {
    std::vector<ModuleRow> listed;
    list(modules, 0, deepest, listed);
    if (listed.size() > rows || listed.size() == best.size())
      break;
    best = std::move(listed);
  }
  if (!best.empty() || modules.empty())
    return best;
  list(modules, 0, 0, best);
  return keepLargest(std::move(best), rows);
}
