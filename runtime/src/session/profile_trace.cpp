// The timeline of a profile as Chrome's trace events:
//
//   {"displayTimeUnit": "ns", "traceEvents": [
//     {"ph": "M", "pid": 1, "name": "process_name", "args": {"name":
//     "mlp.onnx"}},
//     {"ph": "X", "pid": 1, "tid": 1, "ts": 3.25, "dur": 1.5, "name": "fc1",
//      "cat": "kernel", "args": {"entry": "step", "kernel": "matmul", ...}}]}
//
// Times are in microseconds. A call encloses its instructions, so that viewers
// draw them below it.

#include <cstdio>
#include <cstring>
#include <string>

#include "runtime/src/base/json.h"
#include "runtime/src/base/number.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

namespace {

// Microseconds with three digits, exact: a double would round long times.
std::string microseconds(uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%llu.%03u",
                static_cast<unsigned long long>(ns / 1000),
                static_cast<unsigned>(ns % 1000));
  return text;
}

const char* category_of(mpc_profile_kind_t kind) {
  switch (kind) {
    case MPC_PROFILE_KERNEL:
      return "kernel";
    case MPC_PROFILE_GENERATED:
      return "generated";
    case MPC_PROFILE_MOVE:
      return "move";
    case MPC_PROFILE_INPUTS:
      return "inputs";
    case MPC_PROFILE_DISPATCH:
      return "call";
  }
  return "";
}

// A name as a JSON string. JSON must be UTF-8, which names of a damaged package
// may not be.
std::string quote(std::string name) {
  if (!is_utf8(name.data(), name.size()))
    for (char& c : name)
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return json_quote(name);
}

std::string metadata(const char* what, const std::string& name) {
  return std::string("{\"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"name\": \"") +
         what + "\", \"args\": {\"name\": " + quote(name) + "}}";
}

// The part of an event that is the same in all runs of a record.
std::string describe_record(const Profile::Record& record) {
  const std::string name = record.kind == MPC_PROFILE_DISPATCH
                               ? std::string("call")
                           : record.instruction.empty() ? record.kernel
                                                        : record.instruction;
  std::string text = ", \"name\": " + quote(name) + ", \"cat\": \"" +
                     category_of(record.kind) + "\", \"args\": {";
  if (!record.entry.empty()) {
    text += "\"entry\": " + quote(record.entry) +
            ", \"kernel\": " + quote(record.kernel);
    if (!record.implementation.empty())
      text += ", \"implementation\": " + quote(record.implementation);
    text += ", \"bytes\": " + std::to_string(record.bytes);
    if (record.flops > 0)
      text += ", \"flops\": " + std::to_string(record.flops);
  }
  return text + "}}";
}

}  // namespace

mpc_status_t write_trace(const mpc_session_t& session, char** out_text) {
  const Profile& profile = *session.profile;
  if (!profile.has_timeline())
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the profile has no timeline; set timeline_calls "
                           "when it starts");
  std::vector<std::string> descriptions;
  for (const Profile::Record& record : profile.records())
    descriptions.push_back(describe_record(record));
  const auto* model = session.program->root->model();
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n" +
                     metadata("process_name", model ? model->str() : "") +
                     ",\n" + metadata("thread_name", session.device->name());
  for (size_t i = 0; i < profile.num_events(); ++i) {
    const Profile::Event& event = profile.event(i);
    text += ",\n{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": " +
            microseconds(event.begin) +
            ", \"dur\": " + microseconds(event.end - event.begin) +
            descriptions[event.record];
  }
  text += "\n]}\n";
  *out_text = ::strdup(text.c_str());
  if (*out_text) return nullptr;
  return mpc_status_make(MPC_OUT_OF_MEMORY, "out of memory for the trace");
}

}  // namespace mpc::runtime
