//===- Weights.cpp - Which weights a command takes ------------------------===//

#include "tools/mpc/Weights.h"
#include "tools/mpc/Checks.h"
#include "tools/mpc/MasterWeights.h"
#include "tools/mpc/Print.h"

#include <cstring>
#include <map>

using namespace mpc::tool;

/// What a weight's average is called, before the weight's name; and the number
/// of updates it is of.
static constexpr char kPrefix[] = "ema/", kCount[] = "ema_count";

void WeightsChoice::addTo(CLI::App &command) {
  command
      .add_option("--weights", which,
                  "raw (default), or ema: the average of a model compiled "
                  "with --ema")
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
  bool hasAverage = program.hasState(kCount);
  if (which == "ema" && !hasAverage)
    throw Failure(Usage, program.path + ": keeps no average of the weights; "
                                        "compile the model with --ema");
  if (!hasAverage || which == "raw")
    return;
  int64_t count = session.readCounter(kCount);
  if (which != "ema") {
    if (count > 0)
      note("these are the weights of the last step; --weights=ema takes their "
           "average");
    return;
  }
  // Before the first update that is the weights themselves.
  if (count == 0) {
    note("the average begins with the first update: there was none yet");
    return;
  }
  std::map<std::string, mpc_state_info_t> narrow;
  for (const mpc_state_info_t &state : program.states())
    if (isNarrowWeight(state))
      narrow[state.name] = state;
  for (const mpc_state_info_t &state : program.states()) {
    if (std::strncmp(state.name, kPrefix, sizeof(kPrefix) - 1) != 0)
      continue;
    const char *weight = state.name + sizeof(kPrefix) - 1;
    auto found = narrow.find(weight);
    if (found == narrow.end())
      copyState(session, state, weight);
    else
      writeWeight(session, program, found->second,
                  readFloats(session, program, state));
  }
}

std::string WeightsChoice::sourceOf(const Session &session,
                                    const Program &program,
                                    const mpc_state_info_t &weight) const {
  std::string average = kPrefix + std::string(weight.name);
  bool isRounded = which == "ema" && isNarrowWeight(weight) &&
                   program.hasState(average.c_str());
  return isRounded && session.readCounter(kCount) > 0 ? average : weight.name;
}
