// Entry points of programs for several batch sizes.

#include <string>

#include "runtime/src/program/roles.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

uint32_t entry_for(const mpc_session_t& session, uint32_t entry,
                   const mpc_tensor_t* inputs, size_t num_inputs) {
  const auto& entries = *session.variant->entries();
  const schema::Entry& named = *entries.Get(entry);
  const schema::EntryRole role = role_of(named);
  if (named.other_batch() != 0 || role == schema::EntryRole::None ||
      fit(named.inputs(), inputs, num_inputs))
    return entry;
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (role_of(*entries.Get(i)) == role &&
        fit(entries.Get(i)->inputs(), inputs, num_inputs))
      return i;
  return entry;
}

mpc_status_t add_batch_sizes(const mpc_session_t& session, uint32_t entry,
                             mpc_status_t status) {
  const auto& entries = *session.variant->entries();
  const schema::EntryRole role = role_of(*entries.Get(entry));
  std::string sizes;
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (i != entry && role_of(*entries.Get(i)) == role)
      sizes += (sizes.empty() ? "" : ", ") +
               std::to_string(batch_size_of(*entries.Get(i)));
  if (role == schema::EntryRole::None || sizes.empty()) return status;
  mpc_status_t longer =
      mpc_status_make(mpc_status_code(status), "%s; other batch sizes: %s",
                      mpc_status_message(status), sizes.c_str());
  mpc_status_free(status);
  return longer;
}

bool changes_weights(const mpc_session_t& session, uint32_t entry) {
  // `apply` or, without micro-batches, `step`.
  for (const BatchEntries& batch : session.batches) {
    const KnownEntries& known = batch.known;
    if (static_cast<int>(entry) ==
        (known.apply >= 0 ? known.apply : known.step))
      return true;
  }
  return false;
}

}  // namespace mpc::runtime
