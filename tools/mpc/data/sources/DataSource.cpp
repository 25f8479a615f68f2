//===- DataSource.cpp - Arrays of a file or a folder ----------------------===//

#include "tools/mpc/data/sources/DataSource.h"

#include <algorithm>

using namespace mpc::tool;

bool DataSource::has(const std::string &name) const {
  std::vector<std::string> all = names();
  return std::find(all.begin(), all.end(), name) != all.end();
}

StoredArray mpc::tool::readWhole(const DataSource &source,
                                 const std::string &name) {
  std::vector<StoredArray> parts = source.read(name);
  if (parts.size() == 1)
    return parts[0];
  StoredArray whole(source.path, source.header(name), {});
  ElementsBuilder bytes("array '" + name + "' of " + source.path);
  for (const StoredArray &part : parts)
    if (part.dtype == whole.dtype) {
      bytes.append(part.data(), part.elements.size());
    } else {
      std::vector<char> converted = convertAll(
          part, whole.dtype == "int64" ? MPC_DTYPE_I64 : MPC_DTYPE_F64);
      bytes.append(converted.data(), converted.size());
    }
  whole.elements = bytes.take();
  return whole;
}
