//===- Random.cpp ---------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Train.h"
