//===- Print.cpp - Output to the terminal and to programs -----------------===//

#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include "runtime/src/base/number.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

using namespace mpc::tool;

/// The number of bytes of the first character; 0 if it is not valid UTF-8.
static size_t characterSize(std::string_view text) {
  for (size_t size = 1; size <= std::min<size_t>(4, text.size()); ++size)
    if (mpc::runtime::is_utf8(text.data(), size))
      return size;
  return 0;
}

std::string mpc::tool::printable(std::string_view text, bool lines) {
  std::string shown;
  while (!text.empty()) {
    size_t size = characterSize(text);
    auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    bool isControl = size == 1 && (byte(0) < ' ' || byte(0) == 0x7f) &&
                     !(lines && text[0] == '\n');
    // U+0080 to U+009F; U+009B is equivalent to ESC [.
    isControl |= size == 2 && byte(0) == 0xc2 && byte(1) < 0xa0;
    if (size > 0 && !isControl) {
      shown += text.substr(0, size);
      text.remove_prefix(size);
      continue;
    }
    for (size_t i = 0; i < std::max<size_t>(size, 1); ++i)
      shown += format("\\x%02x", byte(i));
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return shown;
}

std::string mpc::tool::withFlags(const std::string &text) {
  static const std::string begin = "option '";
  std::string shown;
  size_t from = 0;
  for (size_t at; (at = text.find(begin, from)) != std::string::npos;) {
    size_t name = at + begin.size();
    size_t end =
        text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", name);
    bool isName = end != std::string::npos && text[end] == '\'' && end > name &&
                  text[name] != '-';
    shown += text.substr(from, at - from);
    shown += isName ? "--" + text.substr(name, end - name) : begin;
    from = isName ? end + 1 : name;
  }
  return shown + text.substr(from);
}

void mpc::tool::printResult(const char *pattern, ...) {
  va_list args;
  va_start(args, pattern);
  std::string text = formatList(pattern, args);
  va_end(args);
  std::fputs(printable(withFlags(text), /*lines=*/true).c_str(), stdout);
}

bool mpc::tool::printJson(const nlohmann::ordered_json &json, int indent) {
  std::string text =
      json.dump(indent, ' ', /*ensure_ascii=*/false,
                nlohmann::ordered_json::error_handler_t::replace);
  return std::puts(withFlags(text).c_str()) >= 0;
}

/// The sink of the current thread; null: messages are printed.
static thread_local MessageSink *currentSink = nullptr;

MessagesTo::MessagesTo(MessageSink &sink) : previous(currentSink) {
  currentSink = &sink;
}

MessagesTo::~MessagesTo() { currentSink = previous; }

MessageSink *mpc::tool::currentMessages() { return currentSink; }

void mpc::tool::printMessage(const std::string &subject, const char *kind,
                             const std::string &text) {
  if (currentSink)
    return currentSink->receive(kind, printable(withFlags(text)));
  std::fprintf(stderr, "%s: %s: %s\n", subject.c_str(), kind,
               printable(withFlags(text)).c_str());
}

void mpc::tool::noteOnce(const std::string &text) {
  static std::set<std::string> printed;
  if ((currentSink ? currentSink->said : printed).insert(text).second)
    note(text);
}
