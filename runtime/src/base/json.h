// JSON for the small files of a checkpoint. The reader is strict: RFC 8259
// without duplicate keys, valid UTF-8 only, at most 16 levels of nesting.

#ifndef MPC_RUNTIME_SRC_BASE_JSON_H_
#define MPC_RUNTIME_SRC_BASE_JSON_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mpc::runtime {

class Json {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  using Member = std::pair<std::string, Json>;

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text;  // The value of a string; a number as it was written.
  std::vector<Json> items;      // Items of an array.
  std::vector<Member> members;  // Members of an object, sorted by name.

  // The member of that name; null if there is none or this is not an object.
  const Json* find(const char* name) const;

  // The value of an integer that is written without fraction and exponent and
  // fits the type; returns false for anything else.
  bool to_unsigned(uint64_t* value) const;
  bool to_signed(int64_t* value) const;

  // Parses a text that consists of exactly one value. On failure returns false
  // and sets `*error` to what is wrong and where. Texts with more than
  // `most_values` values are rejected: a value takes a hundred bytes of memory,
  // but may take only two bytes of the text.
  static bool parse(const char* data, size_t size, size_t most_values,
                    Json* out, std::string* error);

  // Parses a text that consists of one object, and passes each member to
  // `visit` instead of keeping it. `most_values` limits each member separately.
  // Members come in the order of the text; the caller must check for duplicate
  // names. Stops with an error if `visit` returns false.
  static bool parse_members(
      const char* data, size_t size, size_t most_values,
      const std::function<bool(std::string name, Json value)>& visit,
      std::string* error);
};

// `text` as a JSON string: quoted and escaped.
std::string json_quote(const std::string& text);

// Formats a number as 16 lower-case hexadecimal digits, and parses exactly this
// form.
std::string hex_of(uint64_t value);
bool parse_hex(const std::string& text, uint64_t* value);

// Formats bytes as two hexadecimal digits each, and parses exactly `size` bytes
// in this form.
std::string hex_of_bytes(const void* data, size_t size);
bool parse_hex_bytes(const std::string& text, void* data, size_t size);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_BASE_JSON_H_
