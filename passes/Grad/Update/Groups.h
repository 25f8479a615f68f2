//===- Groups.h - Parameter groups ------------------------------*- C++ -*-===//
//
// The parameters of a group share a learning rate factor and a weight decay.
// The pack holds the groups one after the other, starting at row boundaries, so
// that one number per row gives the setting of each element.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_UPDATE_GROUPS_H
#define MPC_PASSES_GRAD_UPDATE_GROUPS_H

#include "passes/Grad/Update/Packing.h"

#include <string>

namespace mpc {

/// The options `--group` and `--no-decay`, and the values for all other
/// parameters.
struct GroupOptions {
  llvm::ArrayRef<std::string> groups;  ///< "REGEX:lr=0.1x,weight-decay=0".
  llvm::ArrayRef<std::string> noDecay; ///< "norms", "biases", or a regex.
  double rate, decay;
};

class ParameterGroups {
public:
  /// Finds the group of each parameter of the module: the last `--group` that
  /// matches its name decides, then `--no-decay` applies. Fails after a
  /// diagnostic if a text is malformed or matches no parameter.
  static mlir::FailureOr<ParameterGroups> find(mlir::ModuleOp module,
                                               const GroupOptions &options);

  /// The parameters, sorted by group.
  llvm::ArrayRef<train::StateOp> sorted() const { return states; }
  /// Whether a state is the first of its group.
  bool beginsGroup(train::StateOp state) const;

  /// The factors of the learning rate, and the decays, of each row: [rows, 1],
  /// or null if they are the same for all. `packing` is that of the sorted
  /// states.
  mlir::Value buildRates(mlir::OpBuilder &builder, mlir::Location loc,
                         const Packing &packing) const;
  mlir::Value buildDecays(mlir::OpBuilder &builder, mlir::Location loc,
                          const Packing &packing) const;

  /// The decay of all parameters, if it is the same for all.
  double commonDecay() const { return groups.front().decay; }

  /// One line for each group.
  llvm::SmallVector<std::string> describe() const;

  /// The value of kParameterGroupsAttr, which the report reads.
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
