//===- JsonLines.cpp - A JSON object per line -----------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/sources/Files.h"
#include "tools/mpc/data/sources/OpenedFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

using namespace mpc::tool;

namespace {
/// The values of one key.
struct Key {
  std::vector<int64_t> shape; ///< The shape of one value.
  TextColumn texts;           ///< Their numbers, or classes.
};

class JsonLinesSource : public DataSource {
public:
  JsonLinesSource(const std::string &path, const ClassNames &classes)
      : DataSource(path), file(path) {
    forEachLine([&](const nlohmann::json &object, uint64_t line) {
      examine(object, line);
      ++rows;
    });
    if (rows == 0)
      throw Failure(Usage, path + " has no lines");
    for (auto &[name, key] : keys) {
      auto given = classes.find(name);
      key.texts.finish(given == classes.end() ? nullptr : &given->second);
    }
  }

  std::vector<std::string> names() const override { return order; }
  std::vector<std::string> classesOf(const std::string &name) const override {
    return keys.at(name).texts.classes();
  }
  mpc::npz::ArrayType header(const std::string &name) const override {
    mpc::npz::ArrayType type;
    type.name = name;
    type.dtype = keys.at(name).texts.dtype();
    type.shape = keys.at(name).shape;
    type.shape.insert(type.shape.begin(), static_cast<int64_t>(rows));
    return type;
  }
  bool isTable() const override {
    return std::all_of(keys.begin(), keys.end(), [](const auto &key) {
      return key.second.shape.empty();
    });
  }
  std::vector<StoredArray> read(const std::string &name) const override {
    const TextColumn &texts = keys.at(name).texts;
    ElementsBuilder elements("'" + name + "' of " + path);
    forEachLine([&](const nlohmann::json &object, uint64_t line) {
      std::string where = whereIs(name, line);
      visit(object[name], [&](const nlohmann::json &value) {
        texts.append(textOf(value, where), where, elements);
      });
    });
    return {StoredArray(path, header(name), elements.take())};
  }

private:
  static constexpr uint64_t kMaxLine = 64 << 20;

  std::string whereIs(const std::string &name, uint64_t line) const {
    return format("%s: '%s' in line %llu", path.c_str(), name.c_str(),
                  static_cast<unsigned long long>(line));
  }

  /// Calls `use` with the object of each line.
  template <typename Use> void forEachLine(Use use) const {
    constexpr uint64_t chunk = 1 << 20;
    std::string text;
    uint64_t line = 0;
    auto take = [&] {
      ++line;
      if (text.find_first_not_of(" \t\r") == std::string::npos) {
        text.clear();
        return;
      }
      nlohmann::json object = parse(text, line);
      text.clear();
      use(object, line);
    };
    for (uint64_t at = 0; at < file.size; at += chunk) {
      std::vector<char> bytes = file.read(at, std::min(chunk, file.size - at));
      for (const char *from = bytes.data(), *end = from + bytes.size();
           from < end;) {
        auto *stop = static_cast<const char *>(
            std::memchr(from, '\n', static_cast<size_t>(end - from)));
        text.append(from, stop ? stop : end);
        if (text.size() > kMaxLine)
          file.fail(format("line %llu is longer than %llu bytes",
                           static_cast<unsigned long long>(line + 1),
                           static_cast<unsigned long long>(kMaxLine)));
        if (stop)
          take();
        from = stop ? stop + 1 : end;
      }
    }
    take();
  }

  nlohmann::json parse(const std::string &text, uint64_t line) const {
    // Deeper values could exhaust the stack.
    constexpr int maxDepth = 64;
    bool isTooDeep = false;
    auto limit = [&](int depth, nlohmann::json::parse_event_t,
                     nlohmann::json &) {
      isTooDeep |= depth > maxDepth;
      return depth <= maxDepth;
    };
    nlohmann::json object =
        nlohmann::json::parse(text, limit, /*allow_exceptions=*/false);
    if (object.is_discarded() || !object.is_object() || isTooDeep)
      throw Failure(Usage,
                    format("%s: line %llu is not a JSON object", path.c_str(),
                           static_cast<unsigned long long>(line)));
    return object;
  }

  void examine(const nlohmann::json &object, uint64_t line) {
    if (rows == 0)
      for (const auto &[name, value] : object.items()) {
        order.push_back(name);
        keys[name].shape = shapeOf(value);
      }
    for (auto &[name, key] : keys) {
      std::string where = whereIs(name, line);
      if (!object.contains(name))
        throw Failure(Usage, where + " is missing");
      const nlohmann::json &value = object[name];
      if (!hasShape(value, key.shape, 0))
        throw Failure(Usage, where + " has another shape than in the first "
                                     "line");
      visit(value, [&, &texts = key.texts](const nlohmann::json &element) {
        texts.examine(textOf(element, where));
      });
    }
  }

  static std::vector<int64_t> shapeOf(const nlohmann::json &value) {
    std::vector<int64_t> shape;
    for (const nlohmann::json *at = &value; at->is_array(); at = &at->front()) {
      shape.push_back(static_cast<int64_t>(at->size()));
      if (at->empty())
        break;
    }
    return shape;
  }

  static bool hasShape(const nlohmann::json &value,
                       const std::vector<int64_t> &shape, size_t axis) {
    if (axis == shape.size())
      return !value.is_array();
    return value.is_array() &&
           value.size() == static_cast<size_t>(shape[axis]) &&
           std::all_of(value.begin(), value.end(),
                       [&](const nlohmann::json &part) {
                         return hasShape(part, shape, axis + 1);
                       });
  }

  /// Calls `use` with the elements of nested arrays.
  template <typename Use>
  static void visit(const nlohmann::json &value, Use use) {
    if (!value.is_array())
      return use(value);
    for (const nlohmann::json &part : value)
      visit(part, use);
  }

  static std::string textOf(const nlohmann::json &value,
                            const std::string &where) {
    if (value.is_string())
      return value.get<std::string>();
    if (value.is_boolean())
      return value.get<bool>() ? "1" : "0";
    if (!value.is_number())
      throw Failure(Usage, where + " is " + value.type_name() +
                               "; numbers, texts and arrays of them are "
                               "supported");
    return value.dump();
  }

  const OpenedFile file;
  std::vector<std::string> order;
  std::map<std::string, Key> keys;
  uint64_t rows = 0;
};
} // namespace

std::unique_ptr<DataSource>
mpc::tool::openJsonLines(const std::string &path, const ClassNames &classes) {
  return std::make_unique<JsonLinesSource>(path, classes);
}
