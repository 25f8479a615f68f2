// Profiles of a session: what their records describe, starting and stopping.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/flops.h"
#include "kernels/shapes.h"
#include "runtime/src/base/guard.h"
#include "runtime/src/device/kernel_call.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

namespace {

mpc_profile_kind_t kind_of(const schema::Instruction& instruction) {
  if (instruction.function() >= 0) return MPC_PROFILE_GENERATED;
  const auto id = static_cast<kernels::KernelId>(instruction.kernel());
  return id == kernels::KernelId::copy || id == kernels::KernelId::zero
             ? MPC_PROFILE_MOVE
             : MPC_PROFILE_KERNEL;
}

// The bytes of all operands. A lookup reads as many elements of its table as it
// writes.
uint64_t bytes_of_operands(const schema::Instruction& instruction) {
  const auto& operands = *instruction.operands();
  const bool looks_up = instruction.function() < 0 &&
                        static_cast<kernels::KernelId>(instruction.kernel()) ==
                            kernels::KernelId::embedding;
  uint64_t bytes = 0;
  for (const schema::Buffer* buffer : operands) {
    const uint64_t all = bytes_of(*buffer);
    const uint64_t results = bytes_of(*operands.Get(operands.size() - 1));
    bytes += looks_up ? std::min(all, results) : all;
  }
  return bytes;
}

Profile::Record describe_instruction(const mpc_session_t& session,
                                     uint32_t entry_index, uint32_t index) {
  const schema::Variant& variant = *session.variant;
  const schema::Entry& entry = *variant.entries()->Get(entry_index);
  const schema::Instruction& instruction = *entry.instructions()->Get(index);
  const auto& operands = *instruction.operands();
  Profile::Record record;
  record.kind = kind_of(instruction);
  record.entry = entry.name()->str();
  if (instruction.name()) record.instruction = instruction.name()->str();
  record.dtype =
      operands.size() > 0 ? dtype_of(operands.Get(0)->dtype()) : mpc_dtype_t{};
  record.bytes = bytes_of_operands(instruction);
  record.flops = 0;
  if (record.kind == MPC_PROFILE_GENERATED) {
    record.kernel = variant.functions()
                        ->Get(static_cast<uint32_t>(instruction.function()))
                        ->symbol()
                        ->str();
    return record;
  }
  const kernels::KernelDesc call = describe_call(instruction);
  record.kernel = kernels::kernel_name(call.id);
  record.implementation =
      session.executable->implementation(entry_index, index);
  record.flops = kernels::count_flops(call);
  return record;
}

Profile::Record part_of_calls(mpc_profile_kind_t kind, const char* name) {
  return {kind, "", "", name, "", mpc_dtype_t{}, 0, 0};
}

std::unique_ptr<Profile> make_profile(const mpc_session_t& session,
                                      uint64_t timeline_calls) {
  std::vector<Profile::Record> records;
  std::vector<size_t> first_of_entry;
  const auto& entries = *session.variant->entries();
  for (uint32_t entry = 0; entry < entries.size(); ++entry) {
    first_of_entry.push_back(records.size());
    const auto* instructions = entries.Get(entry)->instructions();
    for (uint32_t i = 0; instructions && i < instructions->size(); ++i)
      records.push_back(describe_instruction(session, entry, i));
  }
  // In this order: see Profile.
  records.push_back(part_of_calls(MPC_PROFILE_INPUTS, "inputs"));
  records.push_back(part_of_calls(MPC_PROFILE_DISPATCH, "dispatch"));
  return std::make_unique<Profile>(std::move(records),
                                   std::move(first_of_entry), timeline_calls);
}

mpc_status_t start_profile(mpc_session_t* session,
                           const mpc_profile_options_t* given) {
  mpc_profile_options_t options = {};
  if (given)
    MPC_RETURN_IF_ERROR(copy_in(given, "the profile's options", &options));
  if (session->profiles)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the session already profiles; stop that first");
  if (options.resume && !session->profile)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "there is no profile to resume");
  MPC_RETURN_IF_ERROR(check_alive(*session));
  MPC_RETURN_IF_ERROR(finish_steps(session));
  if (!options.resume)
    session->profile = make_profile(*session, options.timeline_calls);
  MPC_RETURN_IF_ERROR(note_loss(
      session, session->executable->set_profile(session->profile.get())));
  session->profiles = true;
  return nullptr;
}

mpc_status_t stop_profile(mpc_session_t* session) {
  if (!session->profiles)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the session does not profile; start that first");
  session->profiles = false;
  // In a session that is lost, nothing may be waited for.
  mpc_status_t status = session->lost ? nullptr : finish_steps(session);
  mpc_status_t stopped = session->executable->set_profile(nullptr);
  if (!status) return note_loss(session, stopped);
  mpc_status_free(stopped);
  return status;
}

mpc_status_t check_stopped(const mpc_session_t* session) {
  if (!session)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the session is NULL");
  if (session->profile && !session->profiles) return nullptr;
  return mpc_status_make(MPC_INVALID_ARGUMENT,
                         session->profiles
                             ? "the session still profiles; stop that first"
                             : "the session has not profiled anything");
}

mpc_status_t check_index(const char* what, size_t index, size_t count) {
  if (index < count) return nullptr;
  return mpc_status_make(MPC_INVALID_ARGUMENT,
                         "there is no %s %zu: the profile has %zu", what, index,
                         count);
}

}  // namespace

}  // namespace mpc::runtime

using namespace mpc::runtime;

mpc_status_t mpc_session_profile_start(mpc_session_t* session,
                                       const mpc_profile_options_t* options) {
  if (!session)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the session is NULL");
  return guard([&] { return start_profile(session, options); });
}

mpc_status_t mpc_session_profile_stop(mpc_session_t* session) {
  if (!session)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the session is NULL");
  return guard([&] { return stop_profile(session); });
}

mpc_status_t mpc_session_profile_info(const mpc_session_t* session,
                                      mpc_profile_info_t* out_info) {
  MPC_RETURN_IF_ERROR(check_stopped(session));
  if (!out_info)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the result is NULL");
  const Profile& profile = *session->profile;
  mpc_profile_info_t info = {};
  info.calls = profile.count_of(profile.dispatch_record()).calls;
  info.num_records = profile.records().size();
  for (size_t i = 0; i < profile.records().size(); ++i)
    info.total_ns += profile.count_of(i).total;
  info.num_events = profile.num_events();
  info.dropped_events = profile.num_dropped();
  return copy_out(info, out_info);
}

mpc_status_t mpc_session_profile_record(const mpc_session_t* session,
                                        size_t index,
                                        mpc_profile_record_t* out_record) {
  MPC_RETURN_IF_ERROR(check_stopped(session));
  if (!out_record)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the result is NULL");
  const Profile& profile = *session->profile;
  MPC_RETURN_IF_ERROR(check_index("record", index, profile.records().size()));
  const Profile::Record& record = profile.records()[index];
  const Profile::Count& count = profile.count_of(index);
  const mpc_profile_record_t result = {
      sizeof(result),        record.kind,
      record.entry.c_str(),  record.instruction.c_str(),
      record.kernel.c_str(), record.implementation.c_str(),
      record.dtype,          count.calls,
      count.total,           count.calls > 0 ? count.least : 0,
      record.bytes,          record.flops};
  return copy_out(result, out_record);
}

mpc_status_t mpc_session_profile_event(const mpc_session_t* session,
                                       size_t index,
                                       mpc_profile_event_t* out_event) {
  MPC_RETURN_IF_ERROR(check_stopped(session));
  if (!out_event)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the result is NULL");
  const Profile& profile = *session->profile;
  MPC_RETURN_IF_ERROR(check_index("event", index, profile.num_events()));
  const Profile::Event& event = profile.event(index);
  const mpc_profile_event_t result = {sizeof(result), event.record, event.begin,
                                      event.end};
  return copy_out(result, out_event);
}

mpc_status_t mpc_session_profile_trace(const mpc_session_t* session,
                                       char** out_text) {
  MPC_RETURN_IF_ERROR(check_stopped(session));
  if (!out_text)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the result is NULL");
  return guard([&] { return write_trace(*session, out_text); });
}
