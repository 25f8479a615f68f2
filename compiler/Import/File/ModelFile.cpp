//===- ModelFile.cpp - A parsed ONNX file ---------------------------------===//
//
// Reads three syntaxes. Before the protobuf parser runs, a scan without
// allocations counts the messages that it would allocate: it needs 250 bytes
// for an empty submessage of two bytes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/File/ModelFile.h"

#include "compiler/Import/File/FileMapping.h"

#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "onnx/defs/parser.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Path.h"

#include <limits>

char mpc::ModelFileError::ID = 0;

using namespace llvm;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Counting the parts of a binary model
//===----------------------------------------------------------------------===//

namespace {

/// The messages of onnx.proto that can hold many others.
enum class Kind {
  Leaf, // A string, packed numbers, or a small message.
  Model,
  Training,
  Function,
  Graph,
  Node,
  Attribute,
  SparseTensor,
  Tensor,
  Annotation,
  ValueInfo,
  Type,
  ElementType,
  Shape,
};

struct Child {
  Kind parent;
  uint64_t field;
  Kind child;
};

constexpr Child kChildren[] = {
    {Kind::Model, 7, Kind::Graph},
    {Kind::Model, 20, Kind::Training},
    {Kind::Model, 25, Kind::Function},
    {Kind::Training, 1, Kind::Graph},
    {Kind::Training, 2, Kind::Graph},
    {Kind::Function, 7, Kind::Node},
    {Kind::Graph, 1, Kind::Node},
    {Kind::Graph, 5, Kind::Tensor},
    {Kind::Graph, 11, Kind::ValueInfo},
    {Kind::Graph, 12, Kind::ValueInfo},
    {Kind::Graph, 13, Kind::ValueInfo},
    {Kind::Graph, 14, Kind::Annotation},
    {Kind::Graph, 15, Kind::SparseTensor},
    {Kind::Node, 5, Kind::Attribute},
    {Kind::Attribute, 5, Kind::Tensor},
    {Kind::Attribute, 6, Kind::Graph},
    {Kind::Attribute, 10, Kind::Tensor},
    {Kind::Attribute, 11, Kind::Graph},
    {Kind::Attribute, 14, Kind::Type},
    {Kind::Attribute, 15, Kind::Type},
    {Kind::Attribute, 22, Kind::SparseTensor},
    {Kind::Attribute, 23, Kind::SparseTensor},
    {Kind::SparseTensor, 1, Kind::Tensor},
    {Kind::SparseTensor, 2, Kind::Tensor},
    {Kind::ValueInfo, 2, Kind::Type},
    // Tensor, sequence, map, sparse tensor, optional.
    {Kind::Type, 1, Kind::ElementType},
    {Kind::Type, 4, Kind::ElementType},
    {Kind::Type, 5, Kind::ElementType},
    {Kind::Type, 8, Kind::ElementType},
    {Kind::Type, 9, Kind::ElementType},
    // Field 1 is a type in a sequence; field 2 is a shape in a tensor.
    {Kind::ElementType, 1, Kind::Type},
    {Kind::ElementType, 2, Kind::Shape},
};

Kind childKind(Kind kind, uint64_t field) {
  for (const Child &entry : kChildren)
    if (entry.parent == kind && entry.field == field)
      return entry.child;
  return Kind::Leaf;
}

struct Cursor {
  Kind kind;
  const char *next, *end;
};

} // namespace

/// Reads a base-128 number; returns false if it extends beyond the end.
static bool readVarint(Cursor &cursor, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (cursor.next == cursor.end)
      return false;
    uint8_t byte = *cursor.next++;
    value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

/// Counts the length-delimited fields of the messages in kChildren, which
/// bounds what parsing allocates besides the bytes themselves. Returns -1 if
/// the bytes are not protobuf.
static int64_t countParts(StringRef bytes) {
  int64_t parts = 0;
  SmallVector<Cursor> stack = {{Kind::Model, bytes.begin(), bytes.end()}};
  while (!stack.empty()) {
    Cursor &top = stack.back();
    if (top.next == top.end) {
      stack.pop_back();
      continue;
    }
    uint64_t tag, value;
    if (!readVarint(top, tag))
      return -1;
    uint64_t left = top.end - top.next;
    switch (tag & 7) {
    case 0:
      if (!readVarint(top, value))
        return -1;
      break;
    case 1:
    case 5: {
      unsigned width = (tag & 7) == 1 ? 8 : 4;
      if (left < width)
        return -1;
      top.next += width;
      break;
    }
    case 2: {
      if (!readVarint(top, value) || value > uint64_t(top.end - top.next))
        return -1;
      ++parts;
      const char *begin = top.next;
      top.next += value;
      Kind child = childKind(top.kind, tag >> 3);
      if (child != Kind::Leaf && stack.size() < 128)
        stack.push_back({child, begin, begin + value});
      break;
    }
    default: // Groups, which ONNX does not have.
      return -1;
    }
    if (parts > kMaxModelParts)
      break;
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

/// Reads a mapped file once from the beginning to the end, and releases what
/// has been read: protobuf copies everything.
class ReleasingStream : public google::protobuf::io::ZeroCopyInputStream {
public:
  explicit ReleasingStream(const FileMapping &file) : file(file) {}

  bool Next(const void **data, int *size) override {
    ArrayRef<char> rest = file.bytes().drop_front(position);
    file.releasePages(released, position);
    released = position;
    *data = rest.data();
    *size = std::min<size_t>(rest.size(), kChunk);
    position += *size;
    return !rest.empty();
  }
  void BackUp(int count) override { position -= count; }
  bool Skip(int count) override {
    size_t left = file.bytes().size() - position;
    position += std::min<size_t>(count, left);
    return size_t(count) <= left;
  }
  int64_t ByteCount() const override { return position; }

private:
  static constexpr size_t kChunk = 4 << 20;
  const FileMapping &file;
  size_t position = 0, released = 0;
};

} // namespace

static bool parse(StringRef bytes, const FileMapping *mapping,
                  onnx::ModelProto &proto) {
  if (!mapping)
    return proto.ParseFromArray(bytes.data(), bytes.size());
  ReleasingStream stream(*mapping);
  return proto.ParseFromZeroCopyStream(&stream);
}

static Error parseBinary(StringRef bytes, const FileMapping *mapping,
                         onnx::ModelProto &proto) {
  if (bytes.size() > size_t(std::numeric_limits<int32_t>::max()))
    return makeModelError(ModelError::Limit,
                          "the file has " + Twine(bytes.size()) +
                              " bytes; an ONNX file holds at most 2 GiB, so "
                              "save the weights as external data");
  int64_t parts = countParts(bytes);
  if (parts > kMaxModelParts)
    return makeModelError(ModelError::Limit,
                          "the model has more than " + Twine(kMaxModelParts) +
                              " nodes, attributes and names");
  if (bytes.empty())
    return makeModelError(ModelError::Invalid, "the file is empty");
  if (parts < 0 || !parse(bytes, mapping, proto))
    return makeModelError(ModelError::Invalid,
                          "not an ONNX file, or truncated");
  return Error::success();
}

/// The textual parsers recurse; text that nests deeper than any model must not
/// reach them.
static bool nestsTooDeep(StringRef text) {
  int64_t depth = 0;
  for (char c : text) {
    depth += StringRef("({[<").contains(c);
    depth -= StringRef(")}]>").contains(c);
    if (depth > 200)
      return true;
  }
  return false;
}

/// Splits "[ParseError at position (line: 3 column: 14)]\nError context: ...\n
/// message" of ONNX's parser.
static Error makeOnnxTextError(StringRef message) {
  unsigned line = 0, column = 0;
  StringRef rest = message.split("(line: ").second;
  if (!rest.consumeInteger(10, line) && rest.consume_front(" column: "))
    rest.consumeInteger(10, column);
  StringRef reason = message.rsplit('\n').second;
  if (reason.empty())
    reason = message;
  return make_error<ModelFileError>(
      ModelError::Invalid, "syntax error: " + reason.rtrim(". ").lower(), line,
      column);
}

static Error parseOnnxText(const std::string &text, onnx::ModelProto &proto) {
  // The parser lets exceptions of std::stoll through.
  try {
    onnx::OnnxParser parser(text.c_str());
    onnx::Common::Status status = parser.Parse(proto);
    if (!status.IsOK())
      return makeOnnxTextError(status.ErrorMessage());
    return Error::success();
  } catch (const std::logic_error &) {
    return makeModelError(ModelError::Invalid,
                          "syntax error: a number is out of range");
  }
}

namespace {

/// Keeps the first error of protobuf's text parser, which would print it.
struct FirstError : google::protobuf::io::ErrorCollector {
  void AddError(int atLine, int atColumn, const std::string &text) override {
    if (!message.empty())
      return;
    message = "syntax error: " + text;
    line = atLine + 1;
    column = atColumn + 1;
  }
  std::string message;
  unsigned line = 0, column = 0;
};

} // namespace

static Error parseProtoText(StringRef text, onnx::ModelProto &proto) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(100);
  google::protobuf::io::ArrayInputStream stream(text.data(), text.size());
  if (parser.Parse(&stream, &proto))
    return Error::success();
  return make_error<ModelFileError>(ModelError::Invalid, error.message,
                                    error.line, error.column);
}

Expected<std::shared_ptr<ModelFile>>
mpc::parseModelFile(MemoryBufferRef buffer, const FileMapping *mapping) {
  auto model = std::make_shared<ModelFile>();
  StringRef path = buffer.getBufferIdentifier(), bytes = buffer.getBuffer();
  model->path = path.str();
  model->folder = sys::path::parent_path(path).str();
  bool isOnnxText = path.ends_with(".onnxtxt");
  bool isText = isOnnxText || path.ends_with(".textproto");
  constexpr size_t kMaxTextBytes = 64 << 20;
  if (isText && (bytes.size() > kMaxTextBytes || nestsTooDeep(bytes)))
    return makeModelError(ModelError::Limit,
                          "the text is too long or too deeply nested");
  Error error = isOnnxText ? parseOnnxText(bytes.str(), model->proto)
                : isText   ? parseProtoText(bytes, model->proto)
                           : parseBinary(bytes, mapping, model->proto);
  if (error)
    return error;
  return model;
}

//===----------------------------------------------------------------------===//
// Detached data
//===----------------------------------------------------------------------===//

/// Marks a tensor as detached: the location of external data that no file can
/// have. The offset is the index of its data.
static constexpr StringLiteral kDetached =
    StringLiteral::withInnerNUL("\0detached");

void ModelFile::detachData() {
  constexpr size_t kMinBytes = 64 << 10;
  if (!proto.has_graph())
    return;
  for (onnx::TensorProto &tensor :
       *proto.mutable_graph()->mutable_initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT ||
        tensor.raw_data().size() < kMinBytes || tensor.float_data_size() > 0 ||
        tensor.has_data_location() || tensor.external_data_size() > 0)
      continue;
    auto add = [&](StringRef key, StringRef value) {
      onnx::StringStringEntryProto *entry = tensor.add_external_data();
      entry->set_key(key.str());
      entry->set_value(value.str());
    };
    add("location", kDetached);
    add("offset", std::to_string(detached.size()));
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    detached.push_back(std::make_shared<const std::string>(
        std::move(*tensor.mutable_raw_data())));
    tensor.clear_raw_data();
  }
}

std::shared_ptr<const std::string>
ModelFile::detachedData(const onnx::TensorProto &tensor) const {
  size_t index = 0;
  if (tensor.external_data_size() != 2 ||
      tensor.external_data(0).value() != kDetached ||
      StringRef(tensor.external_data(1).value()).getAsInteger(10, index) ||
      index >= detached.size())
    return nullptr;
  return detached[index];
}

Expected<std::shared_ptr<ModelFile>> mpc::readModelFile(StringRef path) {
  Expected<std::shared_ptr<FileMapping>> file = FileMapping::open(path);
  if (!file)
    return file.takeError();
  ArrayRef<char> bytes = (*file)->bytes();
  return parseModelFile({StringRef(bytes.data(), bytes.size()), path});
}
