//===- DecodeImage.cpp - Pixels of PNG and JPEG files ---------------------===//

#include "tools/mpc/data/images/DecodeImage.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/sources/OpenedFile.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <jpeglib.h>
#include <png.h>

using namespace mpc::tool;

/// Images with more pixels are refused: a small file may claim to have any
/// size.
static constexpr uint64_t kMaxPixels = uint64_t{1} << 28;

bool mpc::tool::isImageFile(const std::string &path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char &c : extension)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

[[noreturn]] static void fail(const std::string &path,
                              const std::string &what) {
  throw Failure(InputOutput, "cannot decode '" + path + "': " + what);
}

static void checkSize(const std::string &path, Image &image) {
  if (image.width == 0 || image.height == 0 ||
      image.width > kMaxPixels / image.height)
    fail(path, format("it has %llu x %llu pixels; the maximum is %llu in total",
                      static_cast<unsigned long long>(image.width),
                      static_cast<unsigned long long>(image.height),
                      static_cast<unsigned long long>(kMaxPixels)));
  image.pixels.resize(image.width * image.height * image.channels);
}

//===----------------------------------------------------------------------===//
// PNG
//===----------------------------------------------------------------------===//

static Image decodePng(const std::string &path, const std::vector<char> &bytes,
                       uint64_t channels, const ChooseSize &choose) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()))
    fail(path, png.message);
  png.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Image image;
  image.width = png.width;
  image.height = png.height;
  image.channels = channels;
  try {
    checkSize(path, image);
  } catch (...) {
    png_image_free(&png);
    throw;
  }
  choose({image.width, image.height});
  png_color black = {0, 0, 0};
  if (!png_image_finish_read(&png, &black, image.pixels.data(), 0, nullptr))
    fail(path, png.message); // libpng has freed its memory.
  return image;
}

//===----------------------------------------------------------------------===//
// JPEG
//===----------------------------------------------------------------------===//

namespace {
/// libjpeg calls error_exit for an error, which must not return.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];

  static void onError(j_common_ptr info) {
    auto *self = reinterpret_cast<JpegErrors *>(info->err);
    info->err->format_message(info, self->message);
    std::longjmp(self->jump, 1);
  }
  /// A file that ends early is filled up with gray by default.
  static void onMessage(j_common_ptr info, int level) {
    if (level < 0)
      onError(info);
  }
};
} // namespace

/// The number of eighths of the size at which to decode.
static unsigned eighthsFor(const jpeg_decompress_struct &jpeg,
                           ImageSize least) {
  unsigned eighths = 8;
  while (eighths > 1 && jpeg.image_width * (eighths / 2) / 8 >= least.width &&
         jpeg.image_height * (eighths / 2) / 8 >= least.height)
    eighths /= 2;
  return eighths;
}

/// Decodes into `image`, or returns false and the reason in `errors`. It has no
/// objects with destructors, which longjmp would skip.
static bool decodeJpegInto(Image *image, const unsigned char *bytes,
                           uint64_t size, const ChooseSize &choose,
                           void (*allocate)(Image *), JpegErrors *errors) {
  jpeg_decompress_struct jpeg = {};
  jpeg.err = jpeg_std_error(&errors->manager);
  errors->manager.error_exit = JpegErrors::onError;
  errors->manager.emit_message = JpegErrors::onMessage;
  if (setjmp(errors->jump)) {
    jpeg_destroy_decompress(&jpeg);
    return false;
  }
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, bytes, size);
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg.scale_num =
      eighthsFor(jpeg, choose({jpeg.image_width, jpeg.image_height}));
  jpeg.scale_denom = 8;
  jpeg_calc_output_dimensions(&jpeg);
  image->width = jpeg.output_width;
  image->height = jpeg.output_height;
  allocate(image);
  if (image->pixels.empty()) {
    std::strcpy(errors->message, "it has too many pixels");
    jpeg_destroy_decompress(&jpeg);
    return false;
  }
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    unsigned char *row = image->pixels.data() +
                         jpeg.output_scanline * image->width * image->channels;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  return true;
}

static Image decodeJpeg(const std::string &path, const std::vector<char> &bytes,
                        uint64_t channels, const ChooseSize &choose) {
  Image image;
  image.channels = channels;
  JpegErrors errors;
  // Exceptions must not pass through libjpeg's frames.
  auto allocate = [](Image *decoded) {
    if (decoded->width <= kMaxPixels / std::max<uint64_t>(decoded->height, 1))
      try {
        decoded->pixels.resize(decoded->width * decoded->height *
                               decoded->channels);
      } catch (const std::bad_alloc &) {
      }
  };
  if (!decodeJpegInto(&image,
                      reinterpret_cast<const unsigned char *>(bytes.data()),
                      bytes.size(), choose, allocate, &errors))
    fail(path, errors.message);
  return image;
}

Image mpc::tool::decodeImage(const std::string &path, uint64_t channels,
                             const ChooseSize &choose) {
  OpenedFile file(path);
  std::vector<char> bytes = file.read(0, file.size);
  if (bytes.size() >= 8 && std::memcmp(bytes.data(), "\x89PNG", 4) == 0)
    return decodePng(path, bytes, channels, choose);
  if (bytes.size() >= 3 && std::memcmp(bytes.data(), "\xff\xd8\xff", 3) == 0)
    return decodeJpeg(path, bytes, channels, choose);
  fail(path, "it is neither a PNG nor a JPEG file");
}
