//===- Sensitivities.h - What rounding a tensor does to the loss -*- C++
//-*-===//
//
// Read from what `mpc profile` wrote (tools/mpc/Profile.cpp describes it).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_PRECISION_SENSITIVITIES_H
#define MPC_PASSES_PRECISION_SENSITIVITIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// The mean square of what rounding changes in the loss, to first order. Of
/// independent roundings they add up.
struct Sensitivity {
  double bf16 = 0, f16 = 0, e4m3 = 0;

  double of(mlir::FloatType format) const;
};

class Profile {
public:
  /// Reads a file. Fails if it is none, or not of fp32.
  static llvm::Expected<Profile> read(llvm::StringRef path);

private:
  friend class Sensitivities;

  struct Row {
    std::string op; ///< "train.matmul"; empty for inputs and states.
    Sensitivity sensitivity;
  };
  /// In the order of the program.
  llvm::StringMap<std::vector<Row>> rows;
};

/// Those of the values of a function.
class Sensitivities {
public:
  /// Finds the values of `func` by node and op, in their order. A gradient goes
  /// by its forward op: what is sharp one way is so the other way.
  Sensitivities(const Profile &profile, mlir::func::FuncOp func);

  Sensitivity of(mlir::Value value) const { return known.lookup(value); }
  bool empty() const { return known.empty(); }

private:
  llvm::DenseMap<mlir::Value, Sensitivity> known;
};

} // namespace mpc

#endif // MPC_PASSES_PRECISION_SENSITIVITIES_H
