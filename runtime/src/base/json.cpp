#include "runtime/src/base/json.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/src/base/number.h"

namespace mpc::runtime {

const Json* Json::find(const char* name) const {
  auto at = std::lower_bound(
      members.begin(), members.end(), name,
      [](const Member& member, const char* key) { return member.first < key; });
  return at != members.end() && at->first == name ? &at->second : nullptr;
}

bool Json::to_unsigned(uint64_t* value) const {
  if (kind != Kind::kNumber || text.size() > 20 ||
      text.find_first_not_of("0123456789") != std::string::npos)
    return false;
  errno = 0;
  unsigned long long parsed = std::strtoull(text.c_str(), nullptr, 10);
  if (errno != 0) return false;
  *value = parsed;
  return true;
}

bool Json::to_signed(int64_t* value) const {
  if (kind != Kind::kNumber || text.size() > 20 ||
      text.find_first_not_of("-0123456789") != std::string::npos)
    return false;
  errno = 0;
  long long parsed = std::strtoll(text.c_str(), nullptr, 10);
  if (errno != 0) return false;
  *value = parsed;
  return true;
}

namespace {

class Parser {
 public:
  using Visit = std::function<bool(std::string name, Json value)>;

  Parser(const char* data, size_t size, size_t most_values)
      : at_(data),
        begin_(data),
        end_(data + size),
        most_values_(most_values),
        values_left_(most_values) {}

  // Stores the value in `out`, or passes its members to `visit`.
  bool parse_document(Json* out, const Visit* visit, std::string* error) {
    bool good = is_utf8(begin_, static_cast<size_t>(end_ - begin_))
                    ? (visit ? visit_members(*visit) : parse_value(out, 0))
                    : fail("the text is not UTF-8");
    if (good) {
      skip_space();
      if (at_ != end_) good = fail("unexpected text after the value");
    }
    if (!good)
      *error =
          std::string(reason_) + " at byte " + std::to_string(at_ - begin_);
    return good;
  }

 private:
  static constexpr int kMaxDepth = 16;

  bool fail(const char* reason) {
    reason_ = reason;
    return false;
  }

  void skip_space() {
    while (at_ != end_ &&
           (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t'))
      ++at_;
  }

  bool take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool take_word(const char* word) {
    size_t size = std::strlen(word);
    if (static_cast<size_t>(end_ - at_) < size ||
        std::memcmp(at_, word, size) != 0)
      return fail("expected a value");
    at_ += size;
    return true;
  }

  bool visit_members(const Visit& visit) {
    skip_space();
    if (!take('{')) return fail("expected an object");
    skip_space();
    if (take('}')) return true;
    do {
      values_left_ = most_values_;
      Json::Member member;
      if (!parse_member(&member, 0)) return false;
      if (!visit(std::move(member.first), std::move(member.second)))
        return fail("invalid member before");
    } while (take(','));
    return take('}') || fail("expected ',' or '}'");
  }

  bool parse_value(Json* out, int depth) {
    if (depth > kMaxDepth) return fail("nested too deeply");
    if (values_left_ == 0) return fail("too many values");
    --values_left_;
    skip_space();
    if (at_ == end_) return fail("unexpected end of text");
    switch (*at_) {
      case '{':
        return parse_object(out, depth);
      case '[':
        return parse_array(out, depth);
      case '"':
        out->kind = Json::Kind::kString;
        return parse_string(&out->text);
      case 't':
      case 'f':
        out->kind = Json::Kind::kBool;
        out->boolean = *at_ == 't';
        return take_word(out->boolean ? "true" : "false");
      case 'n':
        return take_word("null");
      default:
        return parse_number(out);
    }
  }

  bool parse_object(Json* out, int depth) {
    out->kind = Json::Kind::kObject;
    ++at_;
    skip_space();
    if (take('}')) return true;
    do {
      out->members.emplace_back();
      if (!parse_member(&out->members.back(), depth)) return false;
    } while (take(','));
    if (!take('}')) return fail("expected ',' or '}'");
    auto& members = out->members;
    std::sort(members.begin(), members.end(),
              [](auto& a, auto& b) { return a.first < b.first; });
    auto twin =
        std::adjacent_find(members.begin(), members.end(),
                           [](auto& a, auto& b) { return a.first == b.first; });
    return twin == members.end() || fail("duplicate name before");
  }

  // Parses a member and the whitespace around it.
  bool parse_member(Json::Member* member, int depth) {
    skip_space();
    if (at_ == end_ || *at_ != '"') return fail("expected a name");
    if (!parse_string(&member->first)) return false;
    skip_space();
    if (!take(':')) return fail("expected ':'");
    if (!parse_value(&member->second, depth + 1)) return false;
    skip_space();
    return true;
  }

  bool parse_array(Json* out, int depth) {
    out->kind = Json::Kind::kArray;
    ++at_;
    skip_space();
    if (take(']')) return true;
    do {
      out->items.emplace_back();
      if (!parse_value(&out->items.back(), depth + 1)) return false;
      skip_space();
    } while (take(','));
    return take(']') || fail("expected ',' or ']'");
  }

  bool digits() {
    const char* first = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != first;
  }

  bool parse_number(Json* out) {
    const char* first = at_;
    out->kind = Json::Kind::kNumber;
    (void)take('-');
    const char* whole = at_;
    if (!digits()) return fail("expected a value");
    if (*whole == '0' && at_ - whole > 1)
      return fail("number with a leading zero");
    if (take('.') && !digits()) return fail("expected a digit");
    if (take('e') || take('E')) {
      if (!take('+')) (void)take('-');
      if (!digits()) return fail("expected a digit");
    }
    out->text.assign(first, at_);
    return true;
  }

  bool parse_string(std::string* out) {
    ++at_;
    while (at_ != end_ && *at_ != '"') {
      if (static_cast<unsigned char>(*at_) < 0x20)
        return fail("control character in a string");
      if (*at_ != '\\') {
        out->push_back(*at_++);
        continue;
      }
      ++at_;
      if (!parse_escape(out)) return false;
    }
    return take('"') || fail("unterminated string");
  }

  bool parse_escape(std::string* out) {
    if (at_ == end_) return fail("unterminated string");
    static constexpr char kNames[] = "\"\\/bfnrt";
    static constexpr char kValues[] = "\"\\/\b\f\n\r\t";
    char name = *at_++;
    if (name == 'u') return parse_code_point(out);
    const char* found = name ? std::strchr(kNames, name) : nullptr;
    if (!found) return fail("unknown escape in a string");
    out->push_back(kValues[found - kNames]);
    return true;
  }

  bool parse_hex4(uint32_t* value) {
    *value = 0;
    for (int i = 0; i < 4; ++i) {
      char c = at_ == end_ ? '\0' : *at_;
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0) return fail("expected four hexadecimal digits");
      *value = *value * 16 + static_cast<uint32_t>(digit);
      ++at_;
    }
    return true;
  }

  bool parse_code_point(std::string* out) {
    uint32_t code;
    if (!parse_hex4(&code)) return false;
    if (code >= 0xd800 && code < 0xe000) {
      uint32_t low = 0;
      if (code >= 0xdc00 || !take('\\') || !take('u') || !parse_hex4(&low) ||
          low < 0xdc00 || low >= 0xe000)
        return fail("unpaired surrogate in a string");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    auto push = [out](uint32_t byte) {
      out->push_back(static_cast<char>(byte));
    };
    if (code < 0x80) {
      push(code);
    } else if (code < 0x800) {
      push(0xc0 | (code >> 6));
      push(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      push(0xe0 | (code >> 12));
      push(0x80 | ((code >> 6) & 0x3f));
      push(0x80 | (code & 0x3f));
    } else {
      push(0xf0 | (code >> 18));
      push(0x80 | ((code >> 12) & 0x3f));
      push(0x80 | ((code >> 6) & 0x3f));
      push(0x80 | (code & 0x3f));
    }
    return true;
  }

  const char* at_;
  const char* const begin_;
  const char* const end_;
  const size_t most_values_;
  size_t values_left_;
  const char* reason_ = "";
};

}  // namespace

bool Json::parse(const char* data, size_t size, size_t most_values, Json* out,
                 std::string* error) {
  return Parser(data, size, most_values).parse_document(out, nullptr, error);
}

bool Json::parse_members(
    const char* data, size_t size, size_t most_values,
    const std::function<bool(std::string name, Json value)>& visit,
    std::string* error) {
  return Parser(data, size, most_values).parse_document(nullptr, &visit, error);
}

std::string json_quote(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

static constexpr char kDigits[] = "0123456789abcdef";

std::string hex_of(uint64_t value) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; value >>= 4) text[i] = kDigits[value & 15];
  return text;
}

static int digit_value(char c) {
  const char* found = c ? std::strchr(kDigits, c) : nullptr;
  return found ? static_cast<int>(found - kDigits) : -1;
}

bool parse_hex(const std::string& text, uint64_t* value) {
  if (text.size() != 16) return false;
  uint64_t parsed = 0;
  for (char c : text) {
    if (digit_value(c) < 0) return false;
    parsed = parsed << 4 | static_cast<uint64_t>(digit_value(c));
  }
  *value = parsed;
  return true;
}

std::string hex_of_bytes(const void* data, size_t size) {
  auto* bytes = static_cast<const unsigned char*>(data);
  std::string text;
  text.reserve(2 * size);
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

bool parse_hex_bytes(const std::string& text, void* data, size_t size) {
  if (text.size() != 2 * size) return false;
  for (char c : text)
    if (digit_value(c) < 0) return false;
  auto* bytes = static_cast<unsigned char*>(data);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<unsigned char>(digit_value(text[2 * i]) << 4 |
                                          digit_value(text[2 * i + 1]));
  return true;
}

}  // namespace mpc::runtime
