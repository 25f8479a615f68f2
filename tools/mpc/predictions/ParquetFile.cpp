//===- ParquetFile.cpp - Write arrays as Parquet --------------------------===//

#include "tools/mpc/predictions/ParquetFile.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/data/arrow/ArrowStream.h"
#include "tools/mpc/data/arrow/ArrowType.h"

#include <deque>

using namespace mpc::tool;

/// ExportedArrays owns all structures and outlives their use.
template <typename Structure> static void markReleased(Structure *structure) {
  structure->release = nullptr;
}

namespace {
/// Arrays as structures of Arrow's C data interface.
class ExportedArrays {
public:
  ExportedArrays(const mpc::npz::Arrays &arrays,
                 const std::map<std::string, std::vector<std::string>> &texts) {
    std::vector<Node> columns;
    for (const mpc::npz::Array &array : arrays) {
      auto found = texts.find(array.name);
      Node node =
          addLists(array, found == texts.end() ? addElements(array)
                                               : addTexts(found->second));
      node.schema->name = array.name.c_str();
      columns.push_back(node);
    }
    root = addNode("+s", arrays[0].shape[0], {nullptr}, columns);
  }
  ExportedArrays(const ExportedArrays &) = delete;
  ExportedArrays &operator=(const ExportedArrays &) = delete;

  /// A stream of one batch.
  void open(ArrowArrayStream &stream) {
    stream.private_data = this;
    stream.get_schema = [](ArrowArrayStream *self, ArrowSchema *out) {
      *out = *of(self).root.schema;
      return 0;
    };
    stream.get_next = [](ArrowArrayStream *self, ArrowArray *out) {
      *out = of(self).isRead ? ArrowArray() : *of(self).root.array;
      of(self).isRead = true;
      return 0;
    };
    stream.get_last_error = [](ArrowArrayStream *) -> const char * {
      return nullptr;
    };
    stream.release = markReleased<ArrowArrayStream>;
  }

private:
  struct Node {
    ArrowSchema *schema;
    ArrowArray *array;
  };

  static ExportedArrays &of(ArrowArrayStream *stream) {
    return *static_cast<ExportedArrays *>(stream->private_data);
  }

  /// The first buffer is null: nothing else is.
  Node addNode(const std::string &format, int64_t length,
               std::vector<const void *> buffers,
               const std::vector<Node> &children) {
    ArrowSchema schema = {};
    schema.format = strings.emplace_back(format).c_str();
    schema.name = "";
    schema.release = markReleased<ArrowSchema>;
    ArrowArray array = {};
    array.length = length;
    array.buffers = bufferLists.emplace_back(std::move(buffers)).data();
    array.n_buffers = static_cast<int64_t>(bufferLists.back().size());
    array.release = markReleased<ArrowArray>;
    schema.n_children = array.n_children =
        static_cast<int64_t>(children.size());
    std::vector<ArrowSchema *> &schemasBelow = schemaLists.emplace_back();
    std::vector<ArrowArray *> &arraysBelow = arrayLists.emplace_back();
    for (const Node &child : children) {
      schemasBelow.push_back(child.schema);
      arraysBelow.push_back(child.array);
    }
    schema.children = schemasBelow.data();
    array.children = arraysBelow.data();
    return {&schemas.emplace_back(schema), &arrays.emplace_back(array)};
  }

  Node addElements(const mpc::npz::Array &array) {
    const char *format = arrowFormatOf(array.dtype);
    if (!format)
      throw Failure(Usage, "output '" + array.name + "' is " + array.dtype +
                               ", which is written as .npz or .npy only");
    const void *elements = array.data.data();
    if (array.dtype == "bool") {
      std::string &bits =
          strings.emplace_back((array.data.size() + 7) / 8, '\0');
      for (size_t i = 0; i < array.data.size(); ++i)
        bits[i / 8] =
            static_cast<char>(bits[i / 8] | (array.data[i] != 0) << (i % 8));
      elements = bits.data();
    }
    return addNode(format, static_cast<int64_t>(array.count()),
                   {nullptr, elements}, {});
  }

  /// Texts with offsets of 64 bits.
  Node addTexts(const std::vector<std::string> &texts) {
    std::vector<int64_t> &ends = offsets.emplace_back(1, 0);
    std::string &all = strings.emplace_back();
    for (const std::string &text : texts) {
      all += text;
      ends.push_back(static_cast<int64_t>(all.size()));
    }
    return addNode("U", static_cast<int64_t>(texts.size()),
                   {nullptr, ends.data(), all.data()}, {});
  }

  /// Nests the elements in lists for all dimensions after the first.
  Node addLists(const mpc::npz::Array &array, Node node) {
    for (size_t axis = array.shape.size() - 1; axis > 0; --axis) {
      int64_t length = 1;
      for (size_t i = 0; i < axis; ++i)
        length *= array.shape[i];
      node.schema->name = "item";
      node = addNode("+w:" + std::to_string(array.shape[axis]), length,
                     {nullptr}, {node});
    }
    return node;
  }

  // Deques do not move what the structures refer to.
  std::deque<ArrowSchema> schemas;
  std::deque<ArrowArray> arrays;
  std::deque<std::vector<ArrowSchema *>> schemaLists;
  std::deque<std::vector<ArrowArray *>> arrayLists;
  std::deque<std::vector<const void *>> bufferLists;
  std::deque<std::vector<int64_t>> offsets;
  std::deque<std::string> strings;
  Node root = {};
  bool isRead = false;
};
} // namespace

std::string mpc::tool::formatParquet(
    const std::string &path, const npz::Arrays &arrays,
    const std::map<std::string, std::vector<std::string>> &texts) {
  ExportedArrays exported(arrays, texts);
  ArrowOwned<ArrowArrayStream> stream;
  exported.open(stream);
  return formatParquetFile(path, stream);
}
