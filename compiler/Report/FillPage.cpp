//===- FillPage.cpp - Style, data and scripts of a page -------------------===//

#include "compiler/Report/Page.h"

using llvm::StringRef;

/// JSON inside of HTML: no name can end the element that it stands in.
static std::string escape(StringRef json) {
  std::string escaped;
  for (char c : json)
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  return escaped;
}

std::string mpc::report::fillPage(StringRef html, StringRef script,
                                  StringRef json) {
  std::string page;
  auto upTo = [&](StringRef mark) {
    auto [before, after] = html.split(mark);
    page += before;
    html = after;
  };
  upTo("@style@");
  page += kPageStyle;
  upTo("@report@");
  page += escape(json);
  upTo("@script@");
  page += kCommonScript;
  page += script;
  return page + html.str();
}
