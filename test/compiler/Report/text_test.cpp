//===- text_test.cpp - Formatting of tables and numbers -------------------===//

#include "compiler/Report/Text/Text.h"

#include <gtest/gtest.h>

using namespace mpc::report;

namespace {

TEST(ReportText, ShortensNumbers) {
  EXPECT_EQ(shorten(999), "999 ");
  EXPECT_EQ(shorten(12345678), "12.3 M");
  EXPECT_EQ(inBytes(1000), "1.0 kB");
  EXPECT_EQ(inBytes(UINT64_MAX), "18446744.1 TB");
  EXPECT_EQ(share(1, 0), "0.0 %");
  EXPECT_EQ(count(1, "cast"), "1 cast");
}

// Names are shortened at the beginning, because their ends are more
// informative, and characters are not split.
TEST(ReportText, CutsWholeCharacters) {
  EXPECT_EQ(cutMiddle("transformer.h.0.attn", 11), "tran...attn");
  EXPECT_EQ(cutMiddle("äöüäöüäöü", 8), "äö...äöü");
  EXPECT_EQ(cutName("h.0.attn (MatMul)", 12), "h.0.attn");
  EXPECT_EQ(cutEnd("äöüäöü", 5), "äö...");
  EXPECT_EQ(cutEnd("short", 5), "short");
  EXPECT_EQ(cutEnd("\xff\xfe\xff\xfe\xff\xfe", 4).size(), 4u);
}

TEST(ReportText, Wraps) {
  EXPECT_EQ(wrap("", 10), (std::vector<std::string>{""}));
  EXPECT_EQ(wrap("a bc def", 4), (std::vector<std::string>{"a bc", "def"}));
  EXPECT_EQ(wrap("unbreakable x", 4),
            (std::vector<std::string>{"unbreakable", "x"}));
}

std::string print(size_t width, Table::Overflow overflow) {
  Table table(
      {{"n", Table::Right}, {"node", Table::Name}, {"reason", Table::Prose}});
  table.add({"1", "transformer.h.0.attention.c_attn",
             "squares and sums vanish in sixteen bit weights"});
  std::string text;
  llvm::raw_string_ostream os(text);
  table.print(os, width, overflow);
  return text;
}

TEST(ReportText, FitsTables) {
  EXPECT_EQ(print(200, Table::Overflow::Cut),
            R"(  n  node                              reason
  1  transformer.h.0.attention.c_attn  squares and sums vanish in sixteen bit weights
)");
  EXPECT_EQ(print(60, Table::Overflow::Cut), R"(  n  node              reason
  1  transf....c_attn  squares and sums vanish in sixteen...
)");
  EXPECT_EQ(print(60, Table::Overflow::Below), R"(  n  node
  1  transformer.h.0.attention.c_attn
      squares and sums vanish in sixteen bit weights
)");
  EXPECT_EQ(print(60, Table::Overflow::Wrap), R"(  n  node              reason
  1  transf....c_attn  squares and sums vanish in sixteen
                       bit weights
)");
}

// If nothing can be shortened, extra columns are dropped, the last one first.
TEST(ReportText, DropsExtraColumns) {
  Table table({{"first"},
               {"second", Table::Right, true},
               {"third", Table::Right, true},
               {"fourth", Table::Right}});
  table.add({"1", "2", "3", "4"});
  std::string text;
  llvm::raw_string_ostream os(text);
  table.print(os, 24);
  EXPECT_EQ(text, "  first  second  fourth\n  1           2       4\n");
}

} // namespace
