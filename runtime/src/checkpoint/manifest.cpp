// The text of a manifest is unique: the reader writes it again from what it
// parsed and compares, so that a change of any bit is detected.

#include "runtime/src/base/json.h"
#include "runtime/src/checkpoint/checkpoint.h"

namespace mpc::runtime {

std::string manifest_text(const std::vector<FileRecord>& records) {
  std::string text =
      "{\"format\":" + std::to_string(kCheckpointFormat) + ",\"files\":{";
  const char* separator = "\n";
  for (const FileRecord& record : records) {
    text += separator + json_quote(record.name) +
            ":{\"size\":" + std::to_string(record.size) + ",\"xxh3\":\"" +
            hex_of(record.checksum) + "\"}";
    separator = ",\n";
  }
  return text + "\n}}\n";
}

// A manifest has a dozen values; one of a newer format may have more.
static constexpr size_t kMaxManifestValues = 1024;

static mpc_status_t damaged_manifest(const std::string& path,
                                     const char* what) {
  return mpc_status_make(MPC_DAMAGED, "'%s' is damaged: %s", path.c_str(),
                         what);
}

mpc_status_t parse_manifest(const std::string& path, const char* data,
                            size_t size, std::vector<FileRecord>* out_records) {
  Json json;
  std::string error;
  if (!Json::parse(data, size, kMaxManifestValues, &json, &error))
    return damaged_manifest(path, error.c_str());
  uint64_t format = 0;
  const Json* number = json.find("format");
  if (!number || !number->to_unsigned(&format))
    return damaged_manifest(path, "it has no format number");
  const Json* files = json.find("files");
  std::vector<FileRecord> records;
  for (const char* name : {kModelFile, kOptimizerFile, kStateFile}) {
    const Json* file = files ? files->find(name) : nullptr;
    const Json* bytes = file ? file->find("size") : nullptr;
    const Json* sum = file ? file->find("xxh3") : nullptr;
    FileRecord record;
    record.name = name;
    if (!bytes || !bytes->to_unsigned(&record.size) || !sum ||
        sum->kind != Json::Kind::kString ||
        !parse_hex(sum->text, &record.checksum))
      break;
    records.push_back(std::move(record));
  }
  if (manifest_text(records) == std::string(data, size)) {
    if (records.size() != 3)
      return damaged_manifest(path, "it does not list every file");
    *out_records = std::move(records);
    return nullptr;
  }
  if (format > kCheckpointFormat)
    return mpc_status_make(MPC_INCOMPATIBLE,
                           "'%s' has a newer checkpoint format than this "
                           "runtime reads",
                           path.c_str());
  return damaged_manifest(path, "it was modified after it was written");
}

}  // namespace mpc::runtime
