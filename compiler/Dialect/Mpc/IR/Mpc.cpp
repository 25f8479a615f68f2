//===- Mpc.cpp - Verification of attributes of programs -------------------===//

#include "compiler/Dialect/Mpc/IR/Mpc.h"

#include "compiler/Dialect/Amp/IR/Attributes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mpc;

void MpcDialect::initialize() {}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The places where an attribute may appear.
enum Places : unsigned {
  Module = 1,
  Function = 2,
  Operation_ = 4,
  Argument = 8,
  Result = 16,
};

namespace {
struct Row {
  llvm::StringLiteral name;
  unsigned places;
  bool (*hasType)(Attribute value);
  const char *type; ///< Name of the type in messages.
};
} // namespace

template <typename T> static bool isArrayOf(Attribute value) {
  auto array = dyn_cast<ArrayAttr>(value);
  return array && llvm::all_of(array, llvm::IsaPred<T>);
}

namespace {
namespace types {
struct Unit {
  static bool check(Attribute value) { return isa<UnitAttr>(value); }
  static constexpr const char *kText = "unit";
};
struct Text {
  static bool check(Attribute value) { return isa<StringAttr>(value); }
  static constexpr const char *kText = "a string";
};
struct Texts {
  static bool check(Attribute value) { return isArrayOf<StringAttr>(value); }
  static constexpr const char *kText = "an array of strings";
};
struct Integer {
  static bool check(Attribute value) { return isa<IntegerAttr>(value); }
  static constexpr const char *kText = "an integer";
};
struct Integers {
  static bool check(Attribute value) { return isa<DenseI64ArrayAttr>(value); }
  static constexpr const char *kText = "an array<i64>";
};
struct Float {
  static bool check(Attribute value) { return isa<FloatAttr>(value); }
  static constexpr const char *kText = "a float";
};
struct Range {
  static bool check(Attribute value) {
    return isArrayOf<IntegerAttr>(value) && cast<ArrayAttr>(value).size() == 2;
  }
  static constexpr const char *kText = "two integers, [low, high)";
};
struct Dictionary {
  static bool check(Attribute value) { return isa<DictionaryAttr>(value); }
  static constexpr const char *kText = "a dictionary";
};
struct Dictionaries {
  static bool check(Attribute value) {
    return isArrayOf<DictionaryAttr>(value);
  }
  static constexpr const char *kText = "an array of dictionaries";
};
struct Decision {
  static bool check(Attribute value) { return isa<amp::DecisionAttr>(value); }
  static constexpr const char *kText = "an #amp.decision";
};
struct Format {
  static bool check(Attribute value) { return isa<amp::FormatAttr>(value); }
  static constexpr const char *kText = "an #amp.format";
};
} // namespace types
} // namespace

static const Row rows[] = {
#define MPC_ATTRIBUTE(Name, name, places, type)                                \
  {"mpc." name, places, types::type::check, types::type::kText},
#define Operation Operation_
#include "compiler/Attributes/Attributes.def"
#undef Operation
};

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyAttribute(Operation *op, NamedAttribute attribute,
                                     unsigned place, StringRef where) {
  StringRef name = attribute.getName();
  const Row *row =
      llvm::find_if(rows, [&](const Row &row) { return row.name == name; });
  if (row == std::end(rows))
    return op->emitError("'")
           << name << "' is not declared in compiler/Attributes/Attributes.def";
  if (!(row->places & place))
    return op->emitError("'") << name << "' is not allowed on " << where;
  if (!row->hasType(attribute.getValue()))
    return op->emitError("'") << name << "' must be " << row->type
                              << ", but is " << attribute.getValue();
  return success();
}

LogicalResult MpcDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  if (isa<ModuleOp>(op))
    return verifyAttribute(op, attribute, Module, "modules");
  if (isa<SymbolOpInterface>(op))
    return verifyAttribute(op, attribute, Function, "functions");
  return verifyAttribute(op, attribute, Operation_, "ops");
}

LogicalResult MpcDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned,
                                                   NamedAttribute attribute) {
  return verifyAttribute(op, attribute, Argument, "inputs");
}

LogicalResult
MpcDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                        NamedAttribute attribute) {
  return verifyAttribute(op, attribute, Result, "outputs");
}

#include "compiler/Dialect/Mpc/IR/MpcDialect.cpp.inc"
