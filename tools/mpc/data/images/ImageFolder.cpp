//===- ImageFolder.cpp - Folders of images --------------------------------===//

#include "tools/mpc/data/images/ImageFolder.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/images/DecodeImage.h"
#include "tools/mpc/data/images/ImageColumn.h"

#include <algorithm>
#include <filesystem>

using namespace mpc::tool;
namespace fs = std::filesystem;

static constexpr const char *kLabels = "labels";

/// The names in a folder that `takes` accepts, sorted.
template <typename Takes>
static std::vector<std::string> namesIn(const std::string &folder,
                                        Takes takes) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (takes(*it))
      names.push_back(it->path().filename().string());
  if (error)
    throw Failure(InputOutput,
                  "cannot read '" + folder + "': " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

static std::vector<std::string> imagesIn(const std::string &folder) {
  return namesIn(folder, [](const fs::directory_entry &entry) {
    return isImageFile(entry.path().string());
  });
}

namespace {
class ImageFolderSource : public DataSource {
public:
  ImageFolderSource(const std::string &path, std::vector<std::string> files,
                    std::vector<std::string> classes,
                    std::vector<int64_t> labels)
      : DataSource(path),
        files(std::make_shared<std::vector<std::string>>(std::move(files))),
        classes(std::move(classes)), labels(std::move(labels)) {}

  std::vector<std::string> names() const override {
    return labels.empty() ? std::vector<std::string>{}
                          : std::vector<std::string>{kLabels};
  }
  mpc::npz::ArrayType header(const std::string &name) const override {
    mpc::npz::ArrayType type;
    type.name = name;
    type.dtype = "int64";
    type.shape = {static_cast<int64_t>(labels.size())};
    return type;
  }
  std::vector<StoredArray> read(const std::string &name) const override {
    const char *begin = reinterpret_cast<const char *>(labels.data());
    return {StoredArray(
        path, header(name),
        std::vector<char>(begin, begin + labels.size() * sizeof(int64_t)))};
  }
  std::vector<std::string> classesOf(const std::string &) const override {
    return classes;
  }
  std::unique_ptr<Column>
  makeColumn(const Binding &input, const Scaling &scaling,
             const Augmentation &augmentation) const override {
    std::optional<ImageLayout> layout = ImageLayout::of(input);
    return layout ? std::make_unique<ImageColumn>(input, *layout, path, files,
                                                  scaling, augmentation)
                  : nullptr;
  }

private:
  const std::shared_ptr<const std::vector<std::string>> files;
  const std::vector<std::string> classes;
  const std::vector<int64_t> labels;
};
} // namespace

std::unique_ptr<DataSource>
mpc::tool::openImageFolder(const std::string &path, const ClassNames &classes) {
  std::vector<std::string> files, names;
  std::vector<int64_t> labels;
  for (const std::string &image : imagesIn(path))
    files.push_back(path + "/" + image);
  std::vector<std::string> folders =
      namesIn(path, [](const fs::directory_entry &entry) {
        std::error_code ignored;
        return entry.is_directory(ignored);
      });
  const auto known = classes.find(kLabels);
  const bool areKnown = known != classes.end();
  if (areKnown)
    names = known->second;
  for (const std::string &folder : folders) {
    std::vector<std::string> images = imagesIn(path + "/" + folder);
    if (images.empty())
      continue;
    if (!areKnown)
      names.push_back(folder);
    auto number = std::find(names.begin(), names.end(), folder);
    if (number == names.end())
      throw Failure(Usage, "'" + path + "/" + folder + "' is none of the " +
                               formatCount(names.size()) +
                               " known classes: " + joinWords(names, "or"));
    for (const std::string &image : images) {
      files.push_back(path + "/" + folder + "/" + image);
      labels.push_back(number - names.begin());
    }
  }
  if (files.empty())
    return nullptr;
  if (!labels.empty() && labels.size() < files.size())
    throw Failure(Usage, "'" + path +
                             "' has images beside folders of images; "
                             "move them to the folder of a class");
  return std::make_unique<ImageFolderSource>(
      path, std::move(files), std::move(names), std::move(labels));
}
