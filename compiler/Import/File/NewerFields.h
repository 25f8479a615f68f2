//===- NewerFields.h - Fields that libonnx may not know ---------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_FILE_NEWERFIELDS_H
#define MPC_COMPILER_IMPORT_FILE_NEWERFIELDS_H

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <string>
#include <vector>

namespace mpc {

/// Reads the messages of a repeated field of newer ONNX versions by its number.
/// An older libonnx keeps them as unknown fields.
template <typename Message>
std::vector<Message> readNewerField(const google::protobuf::Message &message,
                                    int number) {
  using google::protobuf::UnknownField;
  const google::protobuf::Reflection &reflection = *message.GetReflection();
  std::vector<Message> result;
  const auto &unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const UnknownField &field = unknown.field(i);
    Message entry;
    if (field.number() == number &&
        field.type() == UnknownField::TYPE_LENGTH_DELIMITED &&
        entry.ParseFromString(field.length_delimited()))
      result.push_back(std::move(entry));
  }
  const auto *known = message.GetDescriptor()->FindFieldByNumber(number);
  for (int i = 0; known && i < reflection.FieldSize(message, known); ++i)
    result.push_back(static_cast<const Message &>(
        reflection.GetRepeatedMessage(message, known, i)));
  return result;
}

/// The same for a text field that is not repeated; "" if it is missing.
inline std::string readNewerText(const google::protobuf::Message &message,
                                 int number) {
  const google::protobuf::Reflection &reflection = *message.GetReflection();
  if (const auto *known = message.GetDescriptor()->FindFieldByNumber(number))
    return reflection.GetString(message, known);
  std::string text; // The last of several values applies.
  const auto &unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() == number &&
        unknown.field(i).type() ==
            google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      text = unknown.field(i).length_delimited();
  return text;
}

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_FILE_NEWERFIELDS_H
