//===- Ranges.h - Profiled results of the ops of a report -------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_MODEL_RANGES_H
#define MPC_COMPILER_REPORT_MODEL_RANGES_H

#include "compiler/Report/Model/Data.h"
#include "compiler/Support/UserInput/ProfileMatch.h"

#include "llvm/ADT/DenseMap.h"

namespace mpc::report {

/// Finds the tensors of a profile that are results of ops of a report: by node
/// and op, in the order of the program. Measurements are of an f32 run,
/// whatever precision the report has. Report and profile must outlive this
/// object.
class Ranges {
public:
  /// Fails if the profile is of another model: it lacks more than half of the
  /// ops of the forward pass, or has weights of other sizes.
  static llvm::Expected<Ranges> match(const Report &report,
                                      const Profile &profile);

  const Profile &profile() const { return *source; }

  /// The results of an op of the report; none if the profile lacks them.
  llvm::ArrayRef<const ProfiledTensor *> of(const Op &op) const;

  /// Describes, for a note, the tensors of the forward pass that the profile
  /// lacks; "" if it has them all.
  const std::string &unknown() const { return lacks; }

private:
  explicit Ranges(const Profile &profile) : source(&profile) {}

  ProfileMatch add(const Function &function);

  const Profile *source;
  llvm::DenseMap<const Op *, ProfileMatch::Tensors> known;
  std::string lacks;
};

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_RANGES_H
