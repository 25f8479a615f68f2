// JSON for the small files of a checkpoint. The reader is strict: RFC 8259
// without duplicate keys, valid UTF-8 only, nested 16 deep at most.

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
  std::string text;             // A string's value; a number as it is written.
  std::vector<Json> items;      // Items of an array.
  std::vector<Member> members;  // Members of an object, sorted by name.

  // The member of that name; null if there is none or this is no object.
  const Json* find(const char* name) const;

  // The value of a whole number written without fraction and exponent that
  // fits; false for anything else.
  bool to_unsigned(uint64_t* value) const;
  bool to_signed(int64_t* value) const;

  // Parses a text that is one value and nothing else. On failure returns false
  // and says what is wrong and where. A value takes a hundred bytes of memory
  // and may take two of the text: more than `most_values` are refused.
  static bool parse(const char* data, size_t size, size_t most_values,
                    Json* out, std::string* error);

  // Parses a text that is one object, and gives each member to `visit` instead
  // of keeping it; `most_values` counts for each anew. Members come in the
  // order of the text; that names differ is for the caller to see to. Stops
  // with an error where `visit` returns false.
  static bool parse_members(
      const char* data, size_t size, size_t most_values,
      const std::function<bool(std::string name, Json value)>& visit,
      std::string* error);
};

// `text` in quotes, with what JSON forbids in strings escaped.
std::string json_quote(const std::string& text);

// 16 lower-case hexadecimal digits, and back (exactly this form).
std::string hex_of(uint64_t value);
bool parse_hex(const std::string& text, uint64_t* value);

// Two digits for each byte, and back (exactly `size` bytes).
std::string hex_of_bytes(const void* data, size_t size);
bool parse_hex_bytes(const std::string& text, void* data, size_t size);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_BASE_JSON_H_
