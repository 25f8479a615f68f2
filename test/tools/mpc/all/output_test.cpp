// Written files survive a power loss, and printed text has no control
// characters.

#include "test/runtime/package.h"
#include "test/tools/sync_log.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

using namespace mpc;
using test::Folder;

namespace {

TEST(Output, SyncsCreatedFolders) {
  Folder folder;
  test::syncLog().clear();
  tool::createFolders(folder / "a/b/run/");
  struct stat info;
  ASSERT_EQ(stat((folder / "a/b/run").c_str(), &info), 0);
  EXPECT_EQ(test::syncLog(),
            (std::vector<std::string>{"sync " + folder.path(),
                                      "sync " + (folder / "a"),
                                      "sync " + (folder / "a/b")}));
  // Existing folders need no sync.
  test::syncLog().clear();
  tool::createFolders(folder / "a/b/run");
  EXPECT_TRUE(test::syncLog().empty());
  test::write_bytes(folder / "file", {1});
  EXPECT_THROW(tool::createFolders(folder / "file"), tool::Failure);
  EXPECT_THROW(tool::createFolders(folder / "file/run"), tool::Failure);
}

TEST(Print, EscapesControlCharacters) {
  EXPECT_EQ(tool::printable("w\xc3\xa4gt \xe2\x82\xac"),
            "w\xc3\xa4gt \xe2\x82\xac");
  EXPECT_EQ(tool::printable("a\x1b[2Jb\r\n\t\x7f"),
            "a\\x1b[2Jb\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(tool::printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(tool::printable("\xff\xc3(\xed\xa0\x80"),
            "\\xff\\xc3(\\xed\\xa0\\x80");
  EXPECT_EQ(tool::printable("\xc2\x9b\xc2\xa0"), "\\xc2\\x9b\xc2\xa0");
  EXPECT_EQ(tool::printable("a\nb\r", /*lines=*/true), "a\nb\\x0d");
}

// Libraries refer to options; users of the command line see flags.
TEST(Output, SaysFlagsForOptions) {
  EXPECT_EQ(tool::withFlags("option 'lr'=3, 'option 'loss-scale' x"),
            "--lr=3, '--loss-scale x");
  for (const char *other : {"", "option 'lr", "option ''", "option '-x'",
                            "option 'a b'", "unknown option '--x'"})
    EXPECT_EQ(tool::withFlags(other), other);
}

} // namespace
