//===- ProfileMatch.h - Profiled tensors by op ------------------*- C++ -*-===//
//
// The compiler looks up the tensors of its values, and a report those of its
// lines; both find the same tensors.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_USERINPUT_PROFILEMATCH_H
#define MPC_COMPILER_SUPPORT_USERINPUT_PROFILEMATCH_H

#include "compiler/Support/UserInput/Profile.h"

#include "llvm/ADT/ArrayRef.h"

namespace mpc {

/// An op as profiles know it.
struct ProfiledOp {
  llvm::StringRef node; ///< The node's name, or the op's if it has none.
  llvm::StringRef op;   ///< "train.matmul"
  /// Number of its float results; 0 if the caller does not know; all ops of
  /// this node and name are then assumed to have equally many.
  unsigned numResults = 0;
};

class ProfileMatch {
public:
  using Tensors = std::vector<const ProfiledTensor *>;

  /// Finds the tensors of the ops of one function, in program order, by node
  /// and op. The profile must outlive this.
  ProfileMatch(const Profile &profile, llvm::ArrayRef<ProfiledOp> ops);

  /// The results of the op with this index; fewer than the op has, or none, if
  /// the profile lacks some.
  llvm::ArrayRef<const ProfiledTensor *> resultsOf(size_t index) const {
    return known[index];
  }

  /// Counts one tensor that the forward pass computes or reads, by the name of
  /// its node or state.
  void count(bool isKnown, llvm::StringRef name);

  /// Counts a weight with this many elements.
  void countWeight(llvm::StringRef name, uint64_t elements);

  /// Describes the counted tensors that the profile lacks: "3 of 20 tensors of
  /// the forward pass, such as 'fc1'"; "" if it has them all.
  std::string lacks() const;

  /// Fails if the profile is of another model: it lacks more than half of what
  /// was counted, or has weights of other sizes.
  llvm::Error check() const;

private:
  const Profile &profile;
  std::vector<Tensors> known;
  size_t numCounted = 0, numMissing = 0;
  std::string firstMissing; ///< Name of its node or state.
  std::string wrongWeight;  ///< Describes the first wrong weight, or "".
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_USERINPUT_PROFILEMATCH_H
