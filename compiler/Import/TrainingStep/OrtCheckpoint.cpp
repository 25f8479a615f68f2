//===- OrtCheckpoint.cpp - Checkpoints of ONNX Runtime --------------------===//
//
// A FlatBuffers file. Its verifier checks offsets and lengths before anything
// is read; the contents are checked here. Tables may be shared, so a small file
// can look like a large one: the verifier limits the number of tables, names
// are short, and duplicate names are rejected immediately.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/TrainingStep/OrtCheckpoint.h"

#include "compiler/Import/TrainingStep/ort_checkpoint_generated.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace llvm;
using namespace mpc;

/// Maximum bytes of a name; PyTorch's have about fifty.
static constexpr size_t kMaxNameBytes = 4096;

static Error invalidCheckpoint(const Twine &message) {
  return makeModelError(ModelError::Invalid, message);
}

/// Prepends `subject` to the message of an error.
static Error about(const Twine &subject, Error error) {
  return handleErrors(std::move(error), [&](const ModelFileError &inner) {
    return makeModelError(inner.kind, subject + inner.message);
  });
}

static StringRef text(const flatbuffers::String *string) {
  return string ? StringRef(string->c_str(), string->size()) : StringRef();
}

/// A name in quotes, on one line, with any contents.
static std::string quote(StringRef name) {
  std::string result = "'";
  for (char c : name)
    result += uint8_t(c) < ' ' || c == '\x7f' ? ' ' : c;
  return result + "'";
}

template <typename Table>
using Tables = flatbuffers::Vector<flatbuffers::Offset<Table>>;

namespace {

class CheckpointReader {
public:
  CheckpointReader(StringRef path, std::shared_ptr<const void> owner)
      : path(path) {
    result.file = std::move(owner);
  }

  Expected<OrtCheckpoint> read(ArrayRef<char> bytes);

private:
  Error readName(const flatbuffers::String *string, const Twine &what,
                 StringRef &name);
  Error readUniqueName(const flatbuffers::String *string, const Twine &what,
                       StringSet<> &names, StringRef &name);
  Error readData(const ort::Tensor &wire, OrtTensor &tensor);
  Expected<ArrayRef<char>> readExternal(int64_t offset, uint64_t size);
  Error readTensor(const ort::Tensor &wire, StringRef what, StringRef whose,
                   StringSet<> &names, OrtTensor &tensor);
  Error readParameters(const Tables<ort::Tensor> *wire, StringRef what,
                       std::vector<OrtTensor> &tensors);
  Error readState(const ort::ParameterOptimizerState &wire,
                  OrtParameterState &state);
  Error readGroup(const ort::OptimizerGroup &wire, OrtOptimizerGroup &group);
  Error readProperties(const ort::PropertyBag &wire);

  const StringRef path;
  bool hasExternalData = false;
  std::shared_ptr<FileMapping> externalFile; ///< Opened on first use.
  StringSet<> parameterNames, groupNames, stateNames, propertyNames;
  StringMap<size_t> trainedPlaces; ///< Indices in result.trained.
  OrtCheckpoint result;
};

} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Error CheckpointReader::readName(const flatbuffers::String *string,
                                 const Twine &what, StringRef &name) {
  name = text(string);
  if (name.empty())
    return invalidCheckpoint(what + " has no name; the checkpoint is damaged");
  if (name.size() > kMaxNameBytes)
    return makeModelError(ModelError::Limit,
                          what + " has a name of " + Twine(name.size()) +
                              " bytes; at most " + Twine(kMaxNameBytes) +
                              " are supported");
  const char *fault = name.contains('\0')   ? "holds a NUL"
                      : !json::isUTF8(name) ? "is not UTF-8"
                                            : nullptr;
  if (!fault)
    return Error::success();
  return invalidCheckpoint(
      "the name of " + what + " " + fault +
      "; rename it in the model: names are UTF-8 text without NUL");
}

Error CheckpointReader::readUniqueName(const flatbuffers::String *string,
                                       const Twine &what, StringSet<> &names,
                                       StringRef &name) {
  if (Error error = readName(string, what, name))
    return error;
  if (names.insert(name).second)
    return Error::success();
  return invalidCheckpoint(what + " is called " + quote(name) +
                           ", which is taken; the checkpoint is damaged");
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Expected<ArrayRef<char>> CheckpointReader::readExternal(int64_t offset,
                                                        uint64_t size) {
  std::string location = (sys::path::filename(path) + ".data").str();
  if (!externalFile) {
    auto opened =
        FileMapping::openBelow(sys::path::parent_path(path), location);
    if (!opened)
      return about(": ", opened.takeError());
    externalFile = std::move(*opened);
  }
  ArrayRef<char> all = externalFile->bytes();
  if (uint64_t(offset) > all.size() || size > all.size() - uint64_t(offset))
    return invalidCheckpoint(
        " needs " + Twine(size) + " bytes from byte " + Twine(offset) +
        " of '" + location + "', which has " + Twine(all.size()) +
        "; it is truncated or belongs to another checkpoint");
  return all.slice(offset, size);
}

/// Messages continue after the tensor's name.
Error CheckpointReader::readData(const ort::Tensor &wire, OrtTensor &tensor) {
  const auto *raw = wire.raw_data();
  uint64_t rawSize = raw ? raw->size() : 0;
  if (result.isNominal) {
    if (tensor.shape.empty() && rawSize == 0)
      return Error::success();
    return invalidCheckpoint(
        " has shape or data, but the checkpoint is marked as "
        "nominal; the checkpoint is damaged");
  }
  Expected<int64_t> count = countElements(tensor.shape);
  if (!count)
    return about(" ", count.takeError());
  uint64_t size = uint64_t(*count) * dataTypeSize(tensor.dataType);
  int64_t offset = wire.external_data_offset();
  if (offset == -1) {
    if (rawSize != size)
      return invalidCheckpoint(" has " + Twine(rawSize) +
                               " bytes of data, but its shape needs " +
                               Twine(size));
    if (rawSize != 0)
      tensor.data = {
          ArrayRef<char>(reinterpret_cast<const char *>(raw->data()), rawSize),
          result.file};
    return Error::success();
  }
  if (offset < 0)
    return invalidCheckpoint(" begins at byte " + Twine(offset) +
                             " of another file; the checkpoint is damaged");
  if (!hasExternalData)
    return invalidCheckpoint(
        " lies in another file, but the checkpoint is marked as "
        "having none; the checkpoint is damaged");
  if (rawSize != 0)
    return invalidCheckpoint(" stores its data twice");
  Expected<ArrayRef<char>> bytes = readExternal(offset, size);
  if (!bytes)
    return bytes.takeError();
  tensor.data = {*bytes, externalFile};
  return Error::success();
}

/// Messages have `what` before and `whose` after the tensor's name.
Error CheckpointReader::readTensor(const ort::Tensor &wire, StringRef what,
                                   StringRef whose, StringSet<> &names,
                                   OrtTensor &tensor) {
  StringRef article = what.starts_with("o") ? "an " : "a ";
  if (Error error = readUniqueName(wire.name(), article + what + whose, names,
                                   tensor.name))
    return error;
  std::string shown = (what + " " + quote(tensor.name) + whose).str();
  tensor.dataType = wire.data_type();
  if (dataTypeSize(tensor.dataType) == 0)
    return invalidCheckpoint(shown + " holds " + dataTypeName(tensor.dataType) +
                             " elements, which are not supported");
  if (const auto *dims = wire.dims()) {
    if (dims->size() > kMaxRank)
      return invalidCheckpoint(shown + " has " + Twine(dims->size()) +
                               " dimensions; at most " + Twine(kMaxRank) +
                               " are supported");
    // The verifier checks the alignment of scalars, but not of lists.
    tensor.shape.resize(dims->size());
    if (!tensor.shape.empty())
      std::memcpy(tensor.shape.data(), dims->Data(),
                  tensor.shape.size_in_bytes());
  }
  if (Error error = readData(wire, tensor))
    return about(shown, std::move(error));
  return Error::success();
}

Error CheckpointReader::readParameters(const Tables<ort::Tensor> *wire,
                                       StringRef what,
                                       std::vector<OrtTensor> &tensors) {
  for (size_t i = 0; wire && i < wire->size(); ++i)
    if (Error error = readTensor(*wire->Get(i), what, "", parameterNames,
                                 tensors.emplace_back()))
      return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Optimizer and properties
//===----------------------------------------------------------------------===//

Error CheckpointReader::readState(const ort::ParameterOptimizerState &wire,
                                  OrtParameterState &state) {
  if (Error error = readUniqueName(wire.param_name(), "an optimizer state",
                                   stateNames, state.parameter))
    return error;
  auto place = trainedPlaces.find(state.parameter);
  if (place == trainedPlaces.end())
    return invalidCheckpoint(
        "the optimizer has a state of " + quote(state.parameter) +
        ", which is not a trained parameter of this checkpoint");
  std::string whose = " of " + quote(state.parameter);
  const OrtTensor &parameter = result.trained[place->second];
  StringSet<> names;
  const auto *momentums = wire.momentums();
  for (size_t i = 0; momentums && i < momentums->size(); ++i) {
    OrtTensor &momentum = state.momentums.emplace_back();
    if (Error error = readTensor(*momentums->Get(i), "optimizer state", whose,
                                 names, momentum))
      return error;
    if (momentum.dataType != parameter.dataType ||
        momentum.shape != parameter.shape)
      return invalidCheckpoint(
          "optimizer state " + quote(momentum.name) + whose +
          " is of another type or shape than the parameter");
  }
  return Error::success();
}

Error CheckpointReader::readGroup(const ort::OptimizerGroup &wire,
                                  OrtOptimizerGroup &group) {
  if (Error error = readUniqueName(wire.group_name(), "an optimizer group",
                                   groupNames, group.name))
    return error;
  group.step = wire.step();
  group.initialLearningRate = wire.initial_learning_rate();
  if (group.step < 0)
    return invalidCheckpoint("optimizer group " + quote(group.name) +
                             " is at step " + Twine(group.step) +
                             "; the checkpoint is damaged");
  const auto *states = wire.optimizer_states();
  for (size_t i = 0; states && i < states->size(); ++i)
    if (Error error = readState(*states->Get(i), group.states.emplace_back()))
      return error;
  return Error::success();
}

Error CheckpointReader::readProperties(const ort::PropertyBag &wire) {
  auto readAll = [&](const auto *properties, auto &list,
                     auto valueOf) -> Error {
    for (size_t i = 0; properties && i < properties->size(); ++i) {
      StringRef name;
      if (Error error = readUniqueName(properties->Get(i)->name(), "a property",
                                       propertyNames, name))
        return error;
      list.emplace_back(name, valueOf(properties->Get(i)->value()));
    }
    return Error::success();
  };
  auto asIs = [](auto value) { return value; };
  if (Error error = readAll(wire.ints(), result.ints, asIs))
    return error;
  if (Error error = readAll(wire.floats(), result.floats, asIs))
    return error;
  return readAll(wire.strings(), result.strings, text);
}

//===----------------------------------------------------------------------===//
// The checkpoint
//===----------------------------------------------------------------------===//

/// Verifies every offset and length in the file and returns the root.
static Expected<const ort::Checkpoint *> verify(ArrayRef<char> bytes) {
  if (bytes.empty())
    return invalidCheckpoint("the file is empty");
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return makeModelError(ModelError::Limit,
                          "the file has " + Twine(bytes.size()) +
                              " bytes; a checkpoint holds less than 2 GiB "
                              "beside its external data");
  if (bytes.size() < 8 || !ort::CheckpointBufferHasIdentifier(bytes.data()))
    return invalidCheckpoint(
        "not a checkpoint of ONNX Runtime, which has 'ODTC' at byte "
        "4; give the file 'checkpoint' that generate_artifacts() or "
        "save_checkpoint() wrote");
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  if (!ort::VerifyCheckpointBuffer(verifier))
    return invalidCheckpoint(
        "the checkpoint is damaged or truncated; copy it again");
  return ort::GetCheckpoint(bytes.data());
}

Expected<OrtCheckpoint> CheckpointReader::read(ArrayRef<char> bytes) {
  Expected<const ort::Checkpoint *> verified = verify(bytes);
  if (!verified)
    return verified.takeError();
  const ort::Checkpoint &wire = **verified;
  if (wire.version() != 1 && wire.version() != 2)
    return invalidCheckpoint(
        "the checkpoint is of version " + Twine(wire.version()) +
        "; 1 and 2 are known, which onnxruntime-training 1.16 to "
        "1.19 write");
  const ort::ModuleState *module = wire.module_state();
  if (!module)
    return invalidCheckpoint(
        "the checkpoint has no parameters; it is damaged, or was "
        "saved from a model that has none");
  result.isNominal = module->is_nominal_state();
  hasExternalData = module->has_external_data();
  if (Error error = readParameters(module->requires_grad_params(), "parameter",
                                   result.trained))
    return error;
  if (Error error = readParameters(module->frozen_params(), "frozen parameter",
                                   result.frozen))
    return error;
  for (size_t i = 0; i < result.trained.size(); ++i)
    trainedPlaces[result.trained[i].name] = i;
  const auto *groups = wire.optimizer_groups();
  for (size_t i = 0; groups && i < groups->size(); ++i)
    if (Error error = readGroup(*groups->Get(i), result.groups.emplace_back()))
      return error;
  if (const ort::PropertyBag *properties = wire.property_bag())
    if (Error error = readProperties(*properties))
      return error;
  return std::move(result);
}

Expected<OrtCheckpoint>
mpc::parseOrtCheckpoint(MemoryBufferRef buffer,
                        std::shared_ptr<const void> owner) {
  ArrayRef<char> bytes(buffer.getBufferStart(), buffer.getBufferSize());
  // Numbers are aligned within the file. A mapping is aligned, too, but a
  // buffer may not be.
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(int64_t) != 0) {
    auto copy = std::make_shared<std::vector<int64_t>>(bytes.size() / 8 + 1);
    std::memcpy(copy->data(), bytes.data(), bytes.size());
    bytes = {reinterpret_cast<const char *>(copy->data()), bytes.size()};
    owner = copy;
  }
  return CheckpointReader(buffer.getBufferIdentifier(), std::move(owner))
      .read(bytes);
}

Expected<OrtCheckpoint> mpc::readOrtCheckpoint(StringRef path) {
  if (sys::fs::is_directory(path))
    return invalidCheckpoint(
        "a folder, as ONNX Runtime before 1.16 wrote checkpoints; "
        "make the artifacts again with 1.16 or later");
  Expected<std::shared_ptr<FileMapping>> file = FileMapping::open(path);
  if (!file)
    return file.takeError();
  ArrayRef<char> bytes = (*file)->bytes();
  return parseOrtCheckpoint({StringRef(bytes.data(), bytes.size()), path},
                            *file);
}
