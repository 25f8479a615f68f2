//===- Sensitivities.cpp - What rounding a tensor does to the loss --------===//

#include "passes/Precision/Sensitivities.h"

#include "compiler/Support/Locations.h"
#include "passes/Precision/PrecisionFacts.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpc;

double Sensitivity::of(FloatType format) const {
  if (format.getWidth() == 8)
    return e4m3;
  return format.isBF16() ? bf16 : f16;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// A number that a sum of may be trusted with.
static double numberAt(const llvm::json::Object &object, StringRef key) {
  double value = object.getNumber(key).value_or(0);
  return std::isfinite(value) && value > 0 ? value : 0;
}

/// "fc1#2" is the third tensor of "fc1", if that is there.
static StringRef baseName(StringRef name, const llvm::json::Object &tensors) {
  auto [base, number] = name.rsplit('#');
  unsigned index;
  bool isRepeat = !number.empty() && !number.getAsInteger(10, index) &&
                  tensors.get(base) != nullptr;
  return isRepeat ? base : name;
}

llvm::Expected<Profile> Profile::read(StringRef path) {
  auto refuse = [&](const llvm::Twine &why) {
    return llvm::createStringError("profile '" + path + "' " + why);
  };
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return refuse("cannot be read: " + file.getError().message());
  llvm::Expected<llvm::json::Value> json =
      llvm::json::parse((*file)->getBuffer());
  if (!json) {
    llvm::consumeError(json.takeError());
    return refuse("is not JSON");
  }
  const llvm::json::Object *root = json->getAsObject();
  const llvm::json::Object *tensors =
      root ? root->getObject("tensors") : nullptr;
  if (!tensors || root->getInteger("version") != 1)
    return refuse("is none of version 1, which 'mpc profile' writes");
  if (root->getString("precision") != "fp32")
    return refuse("is not of --precision=fp32");

  // The object has lost the order of the file, which repeats count in.
  std::vector<std::pair<unsigned, StringRef>> order;
  for (const auto &[key, value] : *tensors) {
    StringRef name = key, base = baseName(name, *tensors);
    unsigned index = 0;
    (void)name.drop_front(std::min(name.size(), base.size() + 1))
        .getAsInteger(10, index);
    order.push_back({base == name ? 0 : index, name});
  }
  std::sort(order.begin(), order.end());
  Profile profile;
  for (auto [index, name] : order) {
    const llvm::json::Object *tensor = tensors->getObject(name);
    if (!tensor)
      return refuse("has a tensor '" + name + "' that is no object");
    Row row = {tensor->getString("op").value_or("").str(), {}};
    if (const llvm::json::Object *known = tensor->getObject("sensitivity"))
      row.sensitivity = {numberAt(*known, "bf16"), numberAt(*known, "f16"),
                         numberAt(*known, "e4m3")};
    profile.rows[baseName(name, *tensors)].push_back(std::move(row));
  }
  return profile;
}

//===----------------------------------------------------------------------===//
// The values
//===----------------------------------------------------------------------===//

Sensitivities::Sensitivities(const Profile &profile, func::FuncOp func) {
  // How many results of a node and op were met, and what its first op has.
  llvm::StringMap<unsigned> met;
  llvm::StringMap<Sensitivity> first;
  auto find = [&](StringRef name, StringRef op) -> const Profile::Row * {
    auto rows = profile.rows.find(name);
    if (rows == profile.rows.end())
      return nullptr;
    unsigned skipped = met[(name + "\n" + op).str()]++;
    for (const Profile::Row &row : rows->second)
      if (row.op == op && skipped-- == 0)
        return &row;
    return nullptr;
  };
  for (Operation &op : func.front()) {
    StringRef mnemonic = op.getName().getStringRef();
    StringRef name = nodeName(op.getLoc());
    bool isGradient = name.consume_back(".grad");
    for (Value result : op.getResults()) {
      if (!getFloatElementType(result.getType()))
        continue;
      if (StringRef weight = stateName(result); !weight.empty()) {
        auto rows = profile.rows.find(weight);
        if (rows != profile.rows.end())
          known[result] = rows->second.front().sensitivity;
        continue;
      }
      if (name.empty())
        continue;
      if (isGradient) {
        if (auto found = first.find(name); found != first.end())
          known[result] = found->second;
        continue;
      }
      if (const Profile::Row *row = find(name, mnemonic)) {
        known[result] = row->sensitivity;
        // That of the loss itself is no tensor's.
        if (cast<ShapedType>(result.getType()).getNumElements() > 1)
          first.try_emplace(name, row->sensitivity);
      }
    }
  }
}
