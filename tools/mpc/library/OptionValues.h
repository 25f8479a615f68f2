//===- OptionValues.h - Options of training, by name ------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_LIBRARY_OPTIONVALUES_H
#define MPC_TOOLS_MPC_LIBRARY_OPTIONVALUES_H

#include "tools/mpc/library/Api.h"
#include "tools/mpc/training/setup/TrainOptions.h"

#include <string>
#include <utility>
#include <vector>

namespace mpc::tool {

/// Values of the options of `mpc train`, in the order in which they were set.
class OptionValues {
public:
  /// Throws a Failure if there is no such option or the value is wrong.
  void set(const std::string &name, const std::string &value);

  /// The options with these values. Throws a Failure if two options exclude
  /// each other.
  TrainOptions parse() const;

private:
  std::vector<std::pair<std::string, std::string>> values;
};

} // namespace mpc::tool

/// Defined here, because the other objects copy what is in it.
struct mpc_train_options_s {
  mpc::tool::OptionValues values;
  mpc::tool::MessageHandler messages;
  mpc_communicator_t communicator = {}; ///< `size` is 0 if there is none.
};

#endif // MPC_TOOLS_MPC_LIBRARY_OPTIONVALUES_H
