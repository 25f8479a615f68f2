//===- RankObserver.cpp - Who watches training on other ranks -------------===//

#include "tools/mpc/training/ranks/RankObserver.h"

#include <cstdio>
#include <cstring>

using namespace mpc::tool;

void RankObserver::receive(const char *kind, const std::string &text) {
  if (std::strcmp(kind, "warning") == 0)
    std::fprintf(stderr, "mpc: rank %u: %s: %s\n", rank, kind, text.c_str());
}
