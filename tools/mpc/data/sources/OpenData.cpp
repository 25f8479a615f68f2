//===- OpenData.cpp - Open data in any format -----------------------------===//

#include "tools/mpc/data/sources/OpenData.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/images/ImageFolder.h"
#include "tools/mpc/data/sources/Files.h"
#include "tools/mpc/data/sources/TokenWindows.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <glob.h>
#include <sstream>

using namespace mpc::tool;
namespace fs = std::filesystem;

namespace {
struct Format {
  const char *extension;
  std::function<std::unique_ptr<DataSource>(const std::string &,
                                            const ClassNames &)>
      open;
};
} // namespace

static const Format kFormats[] = {
    {".npz",
     [](const std::string &path, const ClassNames &) { return openNpz(path); }},
    {".npy",
     [](const std::string &path, const ClassNames &) { return openNpy(path); }},
    {".safetensors", [](const std::string &path,
                        const ClassNames &) { return openSafetensors(path); }},
    {".csv", openTable},
    {".tsv", openTable},
    {".jsonl", openJsonLines},
    {".parquet", openArrowFile},
    {".arrow", openArrowFile},
    {".feather", openArrowFile},
    {".txt", [](const std::string &path,
                const ClassNames &) { return openText(path); }},
};

static const Format *findFormat(const std::string &path) {
  std::string extension = fs::path(path).extension().string();
  for (char &c : extension)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Format &format : kFormats)
    if (extension == format.extension)
      return &format;
  return nullptr;
}

static std::unique_ptr<DataSource> openFile(const std::string &path,
                                            const ClassNames &classes) {
  const Format *format = findFormat(path);
  return format ? format->open(path, classes) : openNpz(path);
}

/// Opens files of one format: .npy files have one array each; others follow
/// each other.
static std::unique_ptr<DataSource>
openFiles(const std::string &path, const std::vector<std::string> &files,
          const ClassNames &classes) {
  std::vector<std::unique_ptr<DataSource>> sources;
  for (const std::string &file : files)
    sources.push_back(openFile(file, classes));
  if (sources.size() == 1)
    return std::move(sources[0]);
  return findFormat(files[0]) == findFormat("x.npy")
             ? joinSources(path, std::move(sources))
             : concatenateSources(path, std::move(sources));
}

/// Throws unless all files have the same format.
static void requireOneFormat(const std::string &path,
                             const std::vector<std::string> &files) {
  for (const std::string &file : files)
    if (findFormat(file) != findFormat(files[0]))
      throw Failure(Usage, "'" + path + "' has files of several formats: '" +
                               files[0] + "' and '" + file + "'");
}

static std::unique_ptr<DataSource> openFolder(const std::string &path,
                                              const ClassNames &classes) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error))
    if (findFormat(it->path().string()) && it->path().extension() != ".txt")
      files.push_back(it->path().string());
  if (error)
    throw Failure(InputOutput,
                  "cannot read '" + path + "': " + error.message());
  if (files.empty())
    if (auto images = openImageFolder(path, classes))
      return images;
  if (files.empty())
    throw Failure(InputOutput, "'" + path +
                                   "' is a folder without data; mpc "
                                   "reads a " +
                                   kDataFormats);
  std::sort(files.begin(), files.end());
  requireOneFormat(path, files);
  return openFiles(path, files, classes);
}

/// The files that match a pattern, sorted; the pattern itself if none does.
static std::vector<std::string> expand(const std::string &pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos || fs::exists(pattern))
    return {pattern};
  glob_t found = {};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (files.empty())
    throw Failure(InputOutput, "no file matches '" + pattern + "'");
  return files;
}

std::unique_ptr<DataSource> mpc::tool::openData(const DataOptions &options) {
  if (options.open)
    return options.open();
  std::vector<std::unique_ptr<DataSource>> sources;
  ClassNames classes = options.classes;
  for (const auto &[input, names] : options.classes)
    for (const std::string &array : options.mappedTo(input))
      classes[array] = names;
  std::vector<std::string> items;
  if (std::error_code ignored; fs::exists(options.path, ignored))
    items.push_back(options.path);
  else {
    std::istringstream list(options.path);
    for (std::string item; std::getline(list, item, ',');)
      if (!item.empty())
        items.push_back(item);
  }
  for (const std::string &item : items) {
    std::error_code ignored;
    if (fs::is_directory(item, ignored)) {
      sources.push_back(openFolder(item, classes));
      continue;
    }
    std::vector<std::string> files = expand(item);
    requireOneFormat(item, files);
    sources.push_back(openFiles(item, files, classes));
  }
  if (sources.empty())
    throw Failure(Usage, "--data is empty");
  return sources.size() == 1 ? std::move(sources[0])
                             : joinSources(options.path, std::move(sources));
}
