// Records the syncs and renames of the program under test.

#ifndef MPC_TEST_TOOLS_SYNC_LOG_H
#define MPC_TEST_TOOLS_SYNC_LOG_H

#include <string>
#include <vector>

namespace mpc::test {

/// "sync PATH" and "rename FROM TO", in the order of the calls. Tests clear it.
std::vector<std::string> &syncLog();

} // namespace mpc::test

#endif // MPC_TEST_TOOLS_SYNC_LOG_H
