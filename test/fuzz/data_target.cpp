// Fuzz target for data in formats other than .npz.

#include "test/fuzz/targets.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/data/images/DecodeImage.h"
#include "tools/mpc/data/images/ResizeImage.h"
#include "tools/mpc/data/sources/Files.h"

#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace mpc::tool;

/// Opens the file in the format that the letter stands for; null for images.
static std::unique_ptr<DataSource> open(char letter, const std::string &path) {
  switch (letter) {
  case 'n':
    return openNpy(path);
  case 's':
    return openSafetensors(path);
  case 'j':
    return openJsonLines(path, {});
  case 'a':
    return openArrowFile(path, {});
  case 'i':
    return nullptr;
  default:
    return openTable(path, {});
  }
}

/// Decodes and resizes an image, as the input of a model.
static void readImage(const std::string &path) {
  const Image image = decodeImage(path, 3, [](ImageSize) {
    return ImageSize{4, 4};
  });
  if (image.pixels.size() != image.width * image.height * 3 ||
      resize(image, centerOf(image, 4, 4), 4, 4).size() != 48)
    std::abort();
}

void mpc::fuzz::data(const uint8_t *data, size_t size) {
  if (size == 0)
    return;
  int file = memfd_create("data", MFD_CLOEXEC);
  if (file < 0 ||
      write(file, data + 1, size - 1) != static_cast<ssize_t>(size - 1))
    std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  try {
    std::unique_ptr<DataSource> source = open(static_cast<char>(*data), path);
    if (!source)
      readImage(path);
    else
      for (const std::string &name : source->names()) {
        const npz::ArrayType header = source->header(name);
        const StoredArray array = readWhole(*source, name);
        if (array.dtype != header.dtype || array.shape != header.shape ||
            array.elements.size() != array.count() * array.elementSize())
          std::abort();
      }
  } catch (const Failure &) {
  }
  close(file);
}
