//===- Profile.cpp - Tensor statistics of a training run ------------------===//

#include "compiler/Support/UserInput/Profile.h"

#include "compiler/Support/UserInput/Json.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cmath>

using namespace mpc;
using llvm::StringRef;
using llvm::json::Object;

static size_t indexOf(Format format) {
  const auto *found = llvm::find(kProfiledFormats, format);
  assert(found != kProfiledFormats.end() && "not a format of profiles");
  return found - kProfiledFormats.begin();
}

Sensitivity Sensitivity::unknown() {
  Sensitivity all;
  all.values.fill(kUnknown);
  return all;
}

double Sensitivity::of(Format format) const { return values[indexOf(format)]; }

void Sensitivity::set(Format format, double value) {
  values[indexOf(format)] = value;
}

/// Returns a finite positive number; 0 for anything else, so that sums stay
/// finite.
static double numberAt(const Object &object, StringRef key) {
  double value = object.getNumber(key).value_or(0);
  return std::isfinite(value) && value > 0 ? value : 0;
}

/// A value that was not finite is missing in the file.
static double sensitivityAt(const Object &object, StringRef key) {
  double value = object.getNumber(key).value_or(Sensitivity::kUnknown);
  return value >= 0 ? std::min(value, Sensitivity::kUnknown)
                    : Sensitivity::kUnknown;
}

namespace {

/// Reads counts of an object; `isRight` tells whether all were valid.
class Counts {
public:
  explicit Counts(const Object &object) : object(object) {}

  /// Returns 0 if `key` is missing.
  uint64_t at(StringRef key) {
    const llvm::json::Value *value = object.get(key);
    return value ? read(*value) : 0;
  }

  std::vector<uint64_t> listAt(StringRef key) {
    std::vector<uint64_t> list;
    if (const llvm::json::Array *array = object.getArray(key))
      for (const llvm::json::Value &value : *array)
        list.push_back(read(value));
    return list;
  }

  bool isRight() const { return right; }

private:
  /// Clamps large counts, so that sums of them do not overflow.
  uint64_t read(const llvm::json::Value &value) {
    constexpr int64_t kMax = INT64_C(1) << 52;
    std::optional<int64_t> number = value.getAsInteger();
    right &= number && *number >= 0;
    return number ? std::clamp<int64_t>(*number, 0, kMax) : 0;
  }

  const Object &object;
  bool right = true;
};

} // namespace

/// "fc1#2" is the third tensor of "fc1", if "fc1" is in the file.
static StringRef baseName(StringRef name, const Object &tensors) {
  auto [base, number] = name.rsplit('#');
  unsigned index;
  bool isRepeat = !number.empty() && !number.getAsInteger(10, index) &&
                  tensors.get(base) != nullptr;
  return isRepeat ? base : name;
}

/// Returns nothing if the numbers are impossible.
static std::optional<ProfiledTensor> readTensor(const Object &object,
                                                size_t exponents) {
  ProfiledTensor tensor;
  tensor.op = object.getString("op").value_or("").str();
  tensor.dtype = object.getString("dtype").value_or("").str();
  Counts counts(object);
  tensor.elements = 1;
  for (uint64_t extent : counts.listAt("shape"))
    tensor.elements = llvm::SaturatingMultiply(tensor.elements, extent);
  tensor.count = counts.at("count");
  tensor.nans = counts.at("nans");
  tensor.infinities = counts.at("infinities");
  tensor.zeros = counts.at("zeros");
  tensor.largest = numberAt(object, "largest");
  tensor.smallest = numberAt(object, "smallest");
  tensor.exponents = counts.listAt("exponents");
  tensor.exponents.resize(exponents);
  if (const Object *known = object.getObject("sensitivity")) {
    tensor.sensitivity.emplace();
    for (Format format : kProfiledFormats)
      tensor.sensitivity->set(format,
                              sensitivityAt(*known, factsOf(format).name));
  }
  if (!counts.isRight())
    return std::nullopt;
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
    return refuse("must have version 1, as written by 'mpc profile'");
  if (root->getString("precision") != "fp32")
    return refuse("must be recorded with option 'precision'=fp32");

  // The object does not keep the order of the file, in which repeats are
  // numbered.
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
  Counts counts(*root);
  profile.steps = counts.at("steps");
  if (!counts.isRight())
    return refuse("has an invalid count of steps");
  size_t exponents = 0;
  if (const Object *bins = root->getObject("exponents")) {
    constexpr int64_t kMax = 4096; // Larger than any float's exponent.
    profile.firstExponent =
        std::clamp(bins->getInteger("first").value_or(0), -kMax, kMax);
    exponents =
        std::clamp<int64_t>(bins->getInteger("count").value_or(0), 0, kMax);
  }
  for (auto [index, name] : order) {
    const Object *tensor = tensors->getObject(name);
    if (!tensor)
      return refuse("has a tensor '" + name + "' that is not an object");
    std::optional<ProfiledTensor> read = readTensor(*tensor, exponents);
    if (!read)
      return refuse("has a tensor '" + name +
                    "' with an invalid shape or count");
    profile.tensors[baseName(name, *tensors)].push_back(std::move(*read));
  }
  return profile;
}

llvm::ArrayRef<ProfiledTensor> Profile::find(StringRef name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? llvm::ArrayRef<ProfiledTensor>()
                                : llvm::ArrayRef(found->second);
}

llvm::Error Profile::refuse(const llvm::Twine &why) const {
  StringRef file = llvm::sys::path::filename(model);
  return llvm::createStringError(
      "profile '" + path + "' belongs to another model" +
      (file.empty() ? "" : ", '" + file + "'") + ": " + why +
      "; record one for this model (mpc compile option 'precision'=fp32 option "
      "'observe'=profile, mpc profile)");
}
