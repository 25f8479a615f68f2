//===- SeveralSources.cpp - Data in several files -------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/data/sources/Files.h"

using namespace mpc::tool;

namespace {
class JoinedSource : public DataSource {
public:
  JoinedSource(const std::string &path,
               std::vector<std::unique_ptr<DataSource>> all)
      : DataSource(path), sources(std::move(all)) {
    for (const auto &source : sources)
      for (const std::string &name : source->names()) {
        auto [found, isNew] = owners.try_emplace(name, source.get());
        if (!isNew)
          throw Failure(Usage, "array '" + name + "' is both in " +
                                   found->second->path + " and in " +
                                   source->path);
        order.push_back(name);
      }
  }

  std::vector<std::string> names() const override { return order; }
  mpc::npz::ArrayType header(const std::string &name) const override {
    return owners.at(name)->header(name);
  }
  std::vector<StoredArray> read(const std::string &name) const override {
    return owners.at(name)->read(name);
  }
  std::vector<std::string> classesOf(const std::string &name) const override {
    return owners.at(name)->classesOf(name);
  }

private:
  const std::vector<std::unique_ptr<DataSource>> sources;
  std::map<std::string, DataSource *> owners;
  std::vector<std::string> order;
};

class ConcatenatedSource : public DataSource {
public:
  ConcatenatedSource(const std::string &path,
                     std::vector<std::unique_ptr<DataSource>> all)
      : DataSource(path), sources(std::move(all)) {
    for (const auto &source : sources)
      for (const std::string &name : sources[0]->names())
        if (!source->has(name))
          throw Failure(Usage, source->path + " has no array '" + name +
                                   "', which " + sources[0]->path + " has");
  }

  std::vector<std::string> names() const override {
    return sources[0]->names();
  }
  bool isTable() const override { return sources[0]->isTable(); }

  /// All parts must give the same numbers to the same classes.
  std::vector<std::string> classesOf(const std::string &name) const override {
    std::vector<std::string> first = sources[0]->classesOf(name);
    for (const auto &source : sources) {
      std::vector<std::string> next = source->classesOf(name);
      if (first.empty() != next.empty())
        throw Failure(Usage, "'" + name + "' contains texts in " +
                                 (first.empty() ? source : sources[0])->path +
                                 " and numbers in " +
                                 (first.empty() ? sources[0] : source)->path);
      if (first != next)
        throw Failure(Usage, "'" + name + "' contains other classes in " +
                                 source->path + " than in " + sources[0]->path +
                                 "; write their numbers instead");
    }
    return first;
  }

  mpc::npz::ArrayType header(const std::string &name) const override {
    mpc::npz::ArrayType whole = sources[0]->header(name);
    for (size_t i = 1; i < sources.size(); ++i) {
      mpc::npz::ArrayType next = sources[i]->header(name);
      mpc::npz::ArrayType same = next;
      // A column is of whole numbers in one file, and not in another.
      if (isTable() && next.dtype != whole.dtype)
        whole.dtype = next.dtype =
            isFloat(whole) || isFloat(next) ? "float64" : "int64";
      if (whole.shape.empty() || next.shape.size() != whole.shape.size() ||
          (same.shape[0] = whole.shape[0], same.shape != whole.shape) ||
          next.dtype != whole.dtype ||
          __builtin_add_overflow(whole.shape[0], next.shape[0],
                                 &whole.shape[0]))
        throw Failure(Usage, "array '" + name + "' is " +
                                 mpc::npz::typeText(next) + " in " +
                                 sources[i]->path +
                                 ", which does not continue " +
                                 mpc::npz::typeText(sources[0]->header(name)) +
                                 " in " + sources[0]->path);
    }
    return whole;
  }

  std::vector<StoredArray> read(const std::string &name) const override {
    (void)header(name); // Checks that they fit together.
    std::vector<StoredArray> parts;
    for (const auto &source : sources)
      for (StoredArray &part : source->read(name))
        if (part.shape[0] > 0)
          parts.push_back(std::move(part));
    // Without any sample, the error is the same as for one file.
    return parts.empty() ? sources[0]->read(name) : std::move(parts);
  }

private:
  const std::vector<std::unique_ptr<DataSource>> sources;
};
} // namespace

std::unique_ptr<DataSource>
mpc::tool::joinSources(const std::string &path,
                       std::vector<std::unique_ptr<DataSource>> sources) {
  return std::make_unique<JoinedSource>(path, std::move(sources));
}

std::unique_ptr<DataSource> mpc::tool::concatenateSources(
    const std::string &path, std::vector<std::unique_ptr<DataSource>> sources) {
  return std::make_unique<ConcatenatedSource>(path, std::move(sources));
}
