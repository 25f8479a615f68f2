//===- ProfileMatch.h - Tensors of a profile by op --------------*- C++ -*-===//
//
// The compiler looks for the tensors of its values, a report for those of its
// lines; both find the same ones.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_USERINPUT_PROFILEMATCH_H
#define MPC_COMPILER_SUPPORT_USERINPUT_PROFILEMATCH_H

#include "compiler/Support/UserInput/Profile.h"

#include "llvm/ADT/ArrayRef.h"

namespace mpc {

/// An op as profiles know it.
struct ProfiledOp {
  llvm::StringRef node; ///< Its name; that of the op where it has none.
  llvm::StringRef op;   ///< "train.matmul"
  /// Number of its float results; 0 if the caller does not know: then all ops
  /// of this node and name have equally many.
  unsigned numResults = 0;
};

class ProfileMatch {
public:
  using Tensors = std::vector<const ProfiledTensor *>;

  /// Finds the tensors of the ops of one function, in program order, by node
  /// and op. The profile must outlive this.
  ProfileMatch(const Profile &profile, llvm::ArrayRef<ProfiledOp> ops);

  /// The results of the op with this index; fewer than it has, or none, where
  /// the profile does not know them.
  llvm::ArrayRef<const ProfiledTensor *> resultsOf(size_t index) const {
    return known[index];
  }

  /// Counts one thing that the forward pass computes or reads, by the name of
  /// its node or state.
  void count(bool isKnown, llvm::StringRef name);

  /// Counts a weight, which has so many elements.
  void countWeight(llvm::StringRef name, uint64_t elements);

  /// "3 of 20 tensors of the forward pass, such as 'fc1'": what was counted and
  /// is not known; "" if all is.
  std::string lacks() const;

  /// Fails if the profile is of another model: it lacks more than half of what
  /// was counted, or has weights of other sizes.
  llvm::Error check() const;

private:
  const Profile &profile;
  std::vector<Tensors> known;
  size_t numCounted = 0, numMissing = 0;
  std::string firstMissing; ///< Its node or state.
  std::string wrongWeight;  ///< What is wrong with it; "" if none is.
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_USERINPUT_PROFILEMATCH_H
