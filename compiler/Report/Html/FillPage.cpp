//===- FillPage.cpp - Style, data and scripts of a page -------------------===//

#include "compiler/Report/Html/Page.h"

using namespace mpc::report;
using llvm::StringRef;

/// Escapes JSON inside of HTML, so that no name can end the element that
/// contains it.
static std::string escape(StringRef json) {
  std::string escaped;
  for (char c : json)
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  return escaped;
}

std::string mpc::report::fillPage(const PageParts &parts, StringRef json) {
  std::string page;
  StringRef frame = kPageFrame;
  auto upTo = [&](StringRef mark) {
    auto [before, after] = frame.split(mark);
    page += before;
    frame = after;
  };
  upTo("@title@");
  page += parts.title;
  upTo("@style@");
  page += kPageStyle;
  upTo("@body@");
  page += parts.body;
  upTo("@report@");
  page += escape(json);
  upTo("@script@");
  page += kCommonScript;
  page += parts.script;
  return page + frame.str();
}
