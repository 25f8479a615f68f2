//===- Weights.cpp - The option --weights ---------------------------------===//

#include "tools/mpc/checkpoints/Weights.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/checkpoints/MasterWeights.h"
#include "tools/mpc/options/Checks.h"

#include <cstring>
#include <map>

using namespace mpc::tool;

void WeightsChoice::addTo(CLI::App &command) {
  command
      .add_option("--weights", which,
                  "Weights to use: raw (default) or ema (requires a model "
                  "compiled with --ema)")
      ->option_text("WHICH")
      ->check(Choice({"raw", "ema"}));
}

static void copyState(Session &session, const mpc_state_info_t &from,
                      const char *to) {
  uint64_t bytes = from.dtype == MPC_DTYPE_F64 ? 8 : 4;
  for (uint32_t i = 0; i < from.rank; ++i)
    bytes *= from.shape[i];
  std::vector<char> value(bytes);
  mpc_tensor_t tensor = {sizeof(tensor), from.dtype,   from.rank,
                         from.shape,     value.data(), {}};
  check(mpc_session_read_state(session.get(), from.name, &tensor), from.name);
  check(mpc_session_write_state(session.get(), to, &tensor), to);
}

void WeightsChoice::apply(Session &session, const Program &program) const {
  const char *counter = program.stateOf(MPC_STATE_AVERAGE_COUNT);
  bool hasAverage = counter != nullptr;
  if (which == "ema" && !hasAverage)
    throw Failure(Usage, program.path +
                             ": the package keeps no moving average; "
                             "compile the model with --ema");
  if (!hasAverage || which == "raw")
    return;
  int64_t count = session.readCounter(counter);
  if (which != "ema") {
    if (count > 0)
      note("using the weights of the last step; use --weights=ema for the "
           "moving average");
    return;
  }
  // Before the first update the average is the weights themselves.
  if (count == 0) {
    note("no update yet, so the moving average equals the weights");
    return;
  }
  std::map<std::string, mpc_state_info_t> narrow;
  for (const mpc_state_info_t &state : program.states())
    if (isBf16Weight(state))
      narrow[state.name] = state;
  for (const mpc_state_info_t &state : program.states()) {
    if (state.role != MPC_STATE_AVERAGE || !state.weight)
      continue;
    auto found = narrow.find(state.weight);
    if (found == narrow.end())
      copyState(session, state, state.weight);
    else
      writeWeight(session, program, found->second,
                  readFloats(session, program, state));
  }
}

std::string WeightsChoice::sourceOf(const Session &session,
                                    const Program &program,
                                    const mpc_state_info_t &weight) const {
  const char *counter = program.stateOf(MPC_STATE_AVERAGE_COUNT);
  if (which == "ema" && isBf16Weight(weight) && counter &&
      session.readCounter(counter) > 0)
    for (const mpc_state_info_t &state : program.states())
      if (state.role == MPC_STATE_AVERAGE && state.weight &&
          std::strcmp(state.weight, weight.name) == 0)
        return state.name;
  return weight.name;
}
