//===- ArrowFiles.cpp - Parquet and Arrow files ---------------------------===//

#include "tools/arrow/ArrowFiles.h"

#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>

#include <cstdio>
#include <cstring>
#include <functional>

namespace {

using NextBatch =
    std::function<arrow::Result<std::shared_ptr<arrow::RecordBatch>>()>;

/// Batches of a file. Damaged files may contain offsets and indices that leave
/// their buffers, which Arrow checks only when asked.
class ValidatedBatches : public arrow::RecordBatchReader {
public:
  ValidatedBatches(std::shared_ptr<arrow::Schema> types, NextBatch next)
      : types(std::move(types)), next(std::move(next)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return types; }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch> *batch) override {
    try {
      ARROW_ASSIGN_OR_RAISE(*batch, next());
      return *batch ? (*batch)->ValidateFull() : arrow::Status::OK();
    } catch (const std::exception &error) {
      return arrow::Status::IOError(error.what());
    }
  }

private:
  const std::shared_ptr<arrow::Schema> types;
  const NextBatch next;
};

/// One column of a file, or the types of all.
struct Opened {
  std::shared_ptr<arrow::RecordBatchReader> batches;
  int64_t rows;
};

} // namespace

static Opened typesOnly(std::shared_ptr<arrow::Schema> schema, int64_t rows) {
  return {std::make_shared<ValidatedBatches>(std::move(schema),
                                             [] { return nullptr; }),
          rows};
}

//===----------------------------------------------------------------------===//
// Parquet
//===----------------------------------------------------------------------===//

/// Appends the columns of the file that make up a column of Arrow.
static void addLeaves(const parquet::arrow::SchemaField &field,
                      std::vector<int> &leaves) {
  if (field.is_leaf())
    leaves.push_back(field.column_index);
  for (const parquet::arrow::SchemaField &child : field.children)
    addLeaves(child, leaves);
}

static arrow::Result<Opened>
openParquet(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t column) {
  // Read pages as they are needed instead of whole row groups.
  parquet::ReaderProperties pages;
  pages.enable_buffered_stream();
  parquet::ArrowReaderProperties properties;
  properties.set_pre_buffer(false);
  properties.set_batch_size(4096);
  parquet::arrow::FileReaderBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Open(std::move(file), pages));
  builder.properties(properties);
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<parquet::arrow::FileReader> unique,
                        builder.Build());
  std::shared_ptr<parquet::arrow::FileReader> reader = std::move(unique);
  std::shared_ptr<arrow::Schema> schema;
  ARROW_RETURN_NOT_OK(reader->GetSchema(&schema));
  const int64_t rows = reader->parquet_reader()->metadata()->num_rows();
  if (column == mpc::arrow::kTypesOnly)
    return typesOnly(std::move(schema), rows);

  std::vector<int> groups(reader->num_row_groups()), leaves;
  for (size_t i = 0; i < groups.size(); ++i)
    groups[i] = static_cast<int>(i);
  addLeaves(reader->manifest().schema_fields.at(column), leaves);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatchReader> batches,
                        reader->GetRecordBatchReader(groups, leaves));
  std::shared_ptr<arrow::Schema> types = batches->schema();
  return Opened{
      std::make_shared<ValidatedBatches>(
          std::move(types), [reader, batches] { return batches->Next(); }),
      rows};
}

//===----------------------------------------------------------------------===//
// Arrow IPC
//===----------------------------------------------------------------------===//

static arrow::ipc::IpcReadOptions onlyColumn(int64_t column) {
  arrow::ipc::IpcReadOptions options;
  options.use_threads = false;
  if (column != mpc::arrow::kTypesOnly)
    options.included_fields = {static_cast<int>(column)};
  return options;
}

static arrow::Result<Opened>
openIpcFile(const std::shared_ptr<arrow::io::RandomAccessFile> &file,
            int64_t column) {
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader,
      arrow::ipc::RecordBatchFileReader::Open(file, onlyColumn(column)));
  ARROW_ASSIGN_OR_RAISE(const int64_t rows, reader->CountRows());
  if (column == mpc::arrow::kTypesOnly)
    return typesOnly(reader->schema(), rows);
  auto next =
      [reader,
       i = 0]() mutable -> arrow::Result<std::shared_ptr<arrow::RecordBatch>> {
    if (i == reader->num_record_batches())
      return nullptr;
    return reader->ReadRecordBatch(i++);
  };
  return Opened{std::make_shared<ValidatedBatches>(reader->schema(), next),
                rows};
}

/// A stream does not say how many rows it has: they are counted.
static arrow::Result<Opened>
openIpcStream(const std::shared_ptr<arrow::io::RandomAccessFile> &file,
              int64_t column) {
  using Reader = arrow::ipc::RecordBatchStreamReader;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Reader> counted,
                        Reader::Open(file, onlyColumn(column)));
  int64_t rows = 0;
  for (std::shared_ptr<arrow::RecordBatch> batch;;) {
    ARROW_RETURN_NOT_OK(counted->ReadNext(&batch));
    if (!batch)
      break;
    rows += batch->num_rows();
  }
  if (column == mpc::arrow::kTypesOnly)
    return typesOnly(counted->schema(), rows);
  ARROW_RETURN_NOT_OK(file->Seek(0));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Reader> reader,
                        Reader::Open(file, onlyColumn(column)));
  return Opened{std::make_shared<ValidatedBatches>(
                    reader->schema(), [reader] { return reader->Next(); }),
                rows};
}

//===----------------------------------------------------------------------===//
// The functions of the library
//===----------------------------------------------------------------------===//

/// Opens the file in the format that its first bytes name.
static arrow::Status open(const char *path, int64_t column,
                          ArrowArrayStream *stream, int64_t *rows) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::io::ReadableFile> file,
                        arrow::io::ReadableFile::Open(path));
  char first[8] = {};
  ARROW_RETURN_NOT_OK(file->Read(sizeof(first), first).status());
  ARROW_RETURN_NOT_OK(file->Seek(0));
  auto beginsWith = [&](const char *magic) {
    return std::memcmp(first, magic, std::strlen(magic)) == 0;
  };
  arrow::Result<Opened> opened = arrow::Status::Invalid(
      "it is neither a Parquet file nor an Arrow file or stream");
  if (beginsWith("PAR1"))
    opened = openParquet(file, column);
  else if (beginsWith("ARROW1"))
    opened = openIpcFile(file, column);
  else if (beginsWith("\xff\xff\xff\xff"))
    opened = openIpcStream(file, column);
  else if (beginsWith("FEA1"))
    opened = arrow::Status::Invalid(
        "it is a Feather file of version 1; write it as version 2");
  ARROW_RETURN_NOT_OK(opened.status());
  *rows = opened->rows;
  return arrow::ExportRecordBatchReader(opened->batches, stream);
}

static arrow::Result<std::shared_ptr<arrow::Buffer>>
format(ArrowArrayStream *stream) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatchReader> batches,
                        arrow::ImportRecordBatchReader(stream));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Table> table,
                        batches->ToTable());
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::io::BufferOutputStream> file,
                        arrow::io::BufferOutputStream::Create());
  // The types of Arrow, so that lists of a fixed size remain so.
  std::shared_ptr<parquet::ArrowWriterProperties> types =
      parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ARROW_RETURN_NOT_OK(
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file,
                                 parquet::DEFAULT_MAX_ROW_GROUP_LENGTH,
                                 parquet::default_writer_properties(), types));
  return file->Finish();
}

/// Runs `action`, which must not throw into a caller that may have been built
/// with another compiler.
template <typename Action>
static bool run(Action action, char *error, size_t errorSize) {
  arrow::Status status;
  try {
    status = action();
  } catch (const std::exception &exception) {
    status = arrow::Status::UnknownError(exception.what());
  }
  if (!status.ok())
    std::snprintf(error, errorSize, "%s", status.message().c_str());
  return status.ok();
}

bool mpc_arrow_open_file(const char *path, int64_t column,
                         ArrowArrayStream *stream, int64_t *rows, char *error,
                         size_t errorSize) {
  return run([&] { return open(path, column, stream, rows); }, error,
             errorSize);
}

bool mpc_arrow_format_parquet(ArrowArrayStream *stream,
                              void (*take)(void *context, const char *bytes,
                                           size_t size),
                              void *context, char *error, size_t errorSize) {
  auto action = [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> file, format(stream));
    take(context, file->data_as<char>(), static_cast<size_t>(file->size()));
    return arrow::Status::OK();
  };
  return run(action, error, errorSize);
}
