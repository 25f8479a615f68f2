//===- EventFile.cpp - Event files of TensorBoard -------------------------===//

#include "tools/mpc/logs/EventFile.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Text.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <unistd.h>

using namespace mpc::tool;

//===----------------------------------------------------------------------===//
// Checksums: CRC-32C (Castagnoli), masked as in TFRecords
//===----------------------------------------------------------------------===//

static constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}();

static uint32_t maskedCrc(const std::string &data) {
  uint32_t crc = ~0u;
  for (unsigned char byte : data)
    crc = kCrcTable[(crc ^ byte) & 0xff] ^ crc >> 8;
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

//===----------------------------------------------------------------------===//
// Protocol buffers
//===----------------------------------------------------------------------===//

/// Appends the bytes of a number, the lowest first.
template <typename T> static void appendBytes(std::string &out, T value) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  out.append(bytes, sizeof(bytes));
}

static void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

namespace {
enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
} // namespace

static void appendKey(std::string &out, unsigned field, WireType type) {
  appendVarint(out, field << 3 | type);
}

static void appendText(std::string &out, unsigned field,
                       const std::string &text) {
  appendKey(out, field, Bytes);
  appendVarint(out, text.size());
  out += text;
}

/// The fields that all events have: wall_time = 1 and step = 2.
static std::string beginEvent(uint64_t step) {
  std::chrono::duration<double> now =
      std::chrono::system_clock::now().time_since_epoch();
  std::string event;
  appendKey(event, 1, Fixed64);
  appendBytes(event, now.count());
  appendKey(event, 2, Varint);
  appendVarint(event, step);
  return event;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

EventFile::EventFile(const std::string &folder, uint64_t firstStep) {
  createFolders(folder);
  char host[256] = {};
  (void)::gethostname(host, sizeof(host) - 1);
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  std::string path =
      format("%s/events.out.tfevents.%lld.%s.%d", folder.c_str(),
             static_cast<long long>(seconds.count()), host, ::getpid());
  file.reset(std::fopen(path.c_str(), "wbx"));
  std::string version = beginEvent(0);
  appendText(version, 3, "brain.Event:2"); // file_version
  bool isWritten = file && addEvent(version);
  if (isWritten && firstStep > 0) {
    // session_log with status START.
    std::string start = beginEvent(firstStep + 1);
    appendText(start, 7, std::string("\x08\x01", 2));
    isWritten = addEvent(start);
  }
  if (!isWritten || !flush())
    throw Failure(InputOutput,
                  "cannot write '" + path + "': " + std::strerror(errno));
}

bool EventFile::addEvent(const std::string &event) {
  std::string length, record;
  appendBytes(length, static_cast<uint64_t>(event.size()));
  record = length;
  appendBytes(record, maskedCrc(length));
  record += event;
  appendBytes(record, maskedCrc(event));
  return std::fwrite(record.data(), 1, record.size(), file.get()) ==
         record.size();
}

bool EventFile::addScalar(const std::string &tag, double value, uint64_t step) {
  std::string scalar; // Summary.Value: tag = 1, simple_value = 2.
  appendText(scalar, 1, tag);
  appendKey(scalar, 2, Fixed32);
  appendBytes(scalar, static_cast<float>(value));
  return addSummary(scalar, step);
}

bool EventFile::addHistogram(const std::string &tag, const Histogram &values,
                             uint64_t step) {
  // HistogramProto (tensorflow/core/framework/summary.proto): min = 1, max = 2,
  // num = 3, sum = 4, sum_squares = 5, bucket_limit = 6, bucket = 7.
  std::string histogram;
  unsigned field = 0;
  for (double number : {values.smallest, values.largest, double(values.count),
                        values.sum, values.sumOfSquares}) {
    appendKey(histogram, ++field, Fixed64);
    appendBytes(histogram, number);
  }
  for (const std::vector<double> *list : {&values.ends, &values.counts})
    appendText(histogram, ++field,
               std::string(reinterpret_cast<const char *>(list->data()),
                           list->size() * sizeof(double)));
  std::string value; // Summary.Value: tag = 1, histo = 5.
  appendText(value, 1, tag);
  appendText(value, 5, histogram);
  return addSummary(value, step);
}

bool EventFile::addSummary(const std::string &value, uint64_t step) {
  std::string summary; // Summary: value = 1.
  appendText(summary, 1, value);
  std::string event = beginEvent(step);
  appendText(event, 5, summary);
  return addEvent(event);
}

bool EventFile::flush() { return std::fflush(file.get()) == 0; }
