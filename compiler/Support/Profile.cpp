//===- Profile.cpp - What tensors held while a model trained --------------===//

#include "compiler/Support/Profile.h"

#include "compiler/Support/Json.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cmath>

using namespace mpc;
using llvm::StringRef;
using llvm::json::Object;

double Sensitivity::of(mlir::FloatType format) const {
  if (format.getWidth() == 8)
    return e4m3;
  return format.isBF16() ? bf16 : f16;
}

/// A number that a sum of may be trusted with.
static double numberAt(const Object &object, StringRef key) {
  double value = object.getNumber(key).value_or(0);
  return std::isfinite(value) && value > 0 ? value : 0;
}

/// Not more than sums of it hold.
static uint64_t count(std::optional<int64_t> value) {
  constexpr int64_t kMost = INT64_C(1) << 52;
  return std::clamp<int64_t>(value.value_or(0), 0, kMost);
}

/// "fc1#2" is the third tensor of "fc1", if that is there.
static StringRef baseName(StringRef name, const Object &tensors) {
  auto [base, number] = name.rsplit('#');
  unsigned index;
  bool isRepeat = !number.empty() && !number.getAsInteger(10, index) &&
                  tensors.get(base) != nullptr;
  return isRepeat ? base : name;
}

static ProfiledTensor readTensor(const Object &object, size_t exponents) {
  ProfiledTensor tensor;
  tensor.op = object.getString("op").value_or("").str();
  tensor.dtype = object.getString("dtype").value_or("").str();
  tensor.elements = 1;
  if (const llvm::json::Array *shape = object.getArray("shape"))
    for (const llvm::json::Value &extent : *shape)
      tensor.elements *= count(extent.getAsInteger());
  tensor.count = count(object.getInteger("count"));
  tensor.nans = count(object.getInteger("nans"));
  tensor.infinities = count(object.getInteger("infinities"));
  tensor.zeros = count(object.getInteger("zeros"));
  tensor.largest = numberAt(object, "largest");
  tensor.smallest = numberAt(object, "smallest");
  if (const llvm::json::Array *counts = object.getArray("exponents"))
    for (const llvm::json::Value &number : *counts)
      tensor.exponents.push_back(count(number.getAsInteger()));
  tensor.exponents.resize(exponents);
  if (const Object *known = object.getObject("sensitivity"))
    tensor.sensitivity = {numberAt(*known, "bf16"), numberAt(*known, "f16"),
                          numberAt(*known, "e4m3")};
  return tensor;
}

llvm::Expected<Profile> Profile::read(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(
        "profile '" + path + "' cannot be read: " + file.getError().message());
  return parse((*file)->getBuffer(), path);
}

llvm::Expected<Profile> Profile::parse(StringRef text, StringRef path) {
  auto refuse = [&](const llvm::Twine &why) {
    return llvm::createStringError("profile '" + path + "' " + why);
  };
  if (nestsDeeply(text))
    return refuse("is nested too deeply");
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json) {
    llvm::consumeError(json.takeError());
    return refuse("is not JSON");
  }
  const Object *root = json->getAsObject();
  const Object *tensors = root ? root->getObject("tensors") : nullptr;
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
  profile.path = path.str();
  profile.model = root->getString("model").value_or("").str();
  profile.steps = count(root->getInteger("steps"));
  size_t exponents = 0;
  if (const Object *bins = root->getObject("exponents")) {
    constexpr int64_t kMost = 4096; // More than any float has.
    profile.firstExponent =
        std::clamp(bins->getInteger("first").value_or(0), -kMost, kMost);
    exponents =
        std::clamp<int64_t>(bins->getInteger("count").value_or(0), 0, kMost);
  }
  for (auto [index, name] : order) {
    const Object *tensor = tensors->getObject(name);
    if (!tensor)
      return refuse("has a tensor '" + name + "' that is no object");
    profile.tensors[baseName(name, *tensors)].push_back(
        readTensor(*tensor, exponents));
  }
  return profile;
}

llvm::ArrayRef<ProfiledTensor> Profile::find(StringRef name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? llvm::ArrayRef<ProfiledTensor>()
                                : llvm::ArrayRef(found->second);
}
