//===- Groups.h - Options that differ by parameter --------------*- C++ -*-===//
//
// A group is what parameters share: how fast they go beside the others, and
// how they decay. The pack has them one after the other, so that a number for
// each row says what an element's group says.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_UPDATE_GROUPS_H
#define MPC_PASSES_GRAD_UPDATE_GROUPS_H

#include "passes/Grad/Update/Packing.h"

#include <string>

namespace mpc {

/// What `--group` and `--no-decay` say, beside what holds for all.
struct GroupOptions {
  llvm::ArrayRef<std::string> groups;  ///< "REGEX:lr=0.1x,weight-decay=0".
  llvm::ArrayRef<std::string> noDecay; ///< "norms", "biases", or a regex.
  double rate, decay;
};

class ParameterGroups {
public:
  /// Finds the group of each parameter of the module: the last `--group` that
  /// matches its name says it; `--no-decay` comes on top. Fails after a
  /// diagnostic where a text is no such thing or matches no parameter.
  static mlir::FailureOr<ParameterGroups> find(mlir::ModuleOp module,
                                               const GroupOptions &options);

  /// The parameters, those of one group after each other.
  llvm::ArrayRef<train::StateOp> sorted() const { return states; }
  /// Whether a state is the first of its group.
  bool beginsGroup(train::StateOp state) const;

  /// What rates are multiplied by, and how rows decay: [rows, 1], or null
  /// where that is the same for all. `packing` is that of the sorted states.
  mlir::Value buildRates(mlir::OpBuilder &builder, mlir::Location loc,
                         const Packing &packing) const;
  mlir::Value buildDecays(mlir::OpBuilder &builder, mlir::Location loc,
                          const Packing &packing) const;

  /// How all decay, where that is the same for all.
  double commonDecay() const { return groups.front().decay; }

  /// One line for each group.
  llvm::SmallVector<std::string> describe() const;

  /// What the report reads: kParameterGroupsAttr.
  mlir::ArrayAttr toAttribute(mlir::MLIRContext *context) const;

private:
  struct Group {
    double rate = 1, decay = 0;
    bool operator==(const Group &other) const {
      return rate == other.rate && decay == other.decay;
    }
  };
  /// The parameters of one group, by name.
  llvm::SmallVector<llvm::StringRef> namesOf(unsigned group) const;
  mlir::Value buildColumn(mlir::OpBuilder &builder, mlir::Location loc,
                          const Packing &packing, double Group::*field) const;

  llvm::SmallVector<train::StateOp> states;
  llvm::SmallVector<std::string> names; ///< Names of the states.
  llvm::SmallVector<unsigned> groupOf;  ///< Group of each state.
  llvm::SmallVector<Group> groups;
};

} // namespace mpc

#endif // MPC_PASSES_GRAD_UPDATE_GROUPS_H
