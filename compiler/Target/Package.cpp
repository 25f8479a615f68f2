//===- Package.cpp - Writer of packages -----------------------------------===//

#include "compiler/Target/Package.h"

#include "compiler/Catalog/Catalog.h"
#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Program.h"
#include "runtime/src/program/program_generated.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <deque>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;
using namespace mpc;
namespace fbs = mpc::program;

static constexpr size_t kSegmentAlignment = 64;

static fbs::DType dtypeOf(Type elementType) {
#define MPC_FORMAT(Name, name, option, element, type, dtype, ...)              \
  if (isa<element##Type>(elementType))                                         \
    return fbs::DType::dtype;
#include "compiler/Support/Precision/Formats.def"
  auto integer = dyn_cast<IntegerType>(elementType);
  switch (integer ? integer.getWidth() : 0) {
  case 0:
    return fbs::DType::None;
  case 64:
    return fbs::DType::I64;
  case 32:
    return fbs::DType::I32;
  case 8:
    return fbs::DType::U8;
  default:
    return fbs::DType::Bool;
  }
}

/// The elements of a small `value` in memory layout.
static std::string rawBytes(DenseElementsAttr dense) {
  auto type = cast<RankedTensorType>(dense.getType());
  if (type.getElementType().isInteger(1)) {
    std::string bytes;
    for (bool bit : dense.getValues<bool>())
      bytes.push_back(bit);
    return bytes;
  }
  llvm::ArrayRef<char> raw = dense.getRawData();
  std::string one(raw.data(), raw.size());
  if (!dense.isSplat())
    return one;
  std::string bytes;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    bytes += one;
  return bytes;
}

namespace {

/// Bytes that lie in several places, and their checksum. Owns none of them.
class Pieces {
public:
  Pieces() { XXH3_64bits_reset(&hash); }

  void add(StringRef bytes) {
    pieces.push_back(bytes);
    XXH3_64bits_update(&hash, bytes.data(), bytes.size());
    total += bytes.size();
  }
  void padTo(size_t alignment) {
    static constexpr char kZeros[kSegmentAlignment] = {};
    assert(alignment <= sizeof(kZeros));
    add(StringRef(kZeros,
                  llvm::offsetToAlignment(total, llvm::Align(alignment))));
  }
  ArrayRef<StringRef> list() const { return pieces; }
  uint64_t size() const { return total; }
  uint64_t checksum() const { return XXH3_64bits_digest(&hash); }

private:
  std::vector<StringRef> pieces;
  XXH3_state_t hash;
  uint64_t total = 0;
};

class PackageWriter {
public:
  PackageWriter(ArrayRef<PackageVariant> variants,
                const PackageContents &contents)
      : variants(variants), contents(contents) {
    for (const PackageVariant &variant : variants)
      for (const CodeSegment &code : variant.code)
        addSegment(code);
    collectStates();
    for (const auto &[device, report] : contents.reports)
      addSegment(fbs::SegmentKind::Report, device).bytes.add(report);
  }

  uint64_t write(llvm::raw_ostream &out) {
    // The offsets of segments depend on the size of the root. That does not
    // depend on the offsets, because every field is written, even if it is
    // zero.
    size_t rootSize = buildRoot(0).size();
    std::string root = buildRoot(llvm::alignTo(rootSize, kSegmentAlignment));
    Pieces file;
    file.add(root);
    for (const Segment &segment : segments) {
      file.padTo(kSegmentAlignment);
      for (StringRef bytes : segment.bytes.list())
        file.add(bytes);
    }
    uint64_t checksum = file.checksum();
    file.add("MPCPSEAL");
    file.add({reinterpret_cast<const char *>(&checksum), sizeof(checksum)});
    for (StringRef bytes : file.list())
      out << bytes;
    return file.size();
  }

private:
  struct Segment {
    fbs::SegmentKind kind;
    std::string target;
    std::string form; ///< For kind Other.
    Pieces bytes;
  };
  Segment &addSegment(fbs::SegmentKind kind, StringRef target,
                      StringRef form = "") {
    return segments.emplace_back(
        Segment{kind, target.str(), form.str(), Pieces()});
  }

  /// The original forms of code have segment kinds of their own.
  void addSegment(const CodeSegment &code) {
    auto kind = llvm::StringSwitch<fbs::SegmentKind>(code.form)
                    .Case(kObjectForm, fbs::SegmentKind::Code)
                    .Case(kPtxForm, fbs::SegmentKind::Ptx)
                    .Case(kCubinForm, fbs::SegmentKind::Cubin)
                    .Default(fbs::SegmentKind::Other);
    addSegment(kind, code.target,
               kind == fbs::SegmentKind::Other ? code.form : "")
        .bytes.add(code.bytes);
  }

  /// Adds the segment of initial values.
  void collectStates() {
    ModuleOp module = variants.front().module;
    Pieces &pieces = addSegment(fbs::SegmentKind::States, "").bytes;
    for (auto state : module.getOps<train::StateOp>()) {
      if (std::optional<ElementsAttr> value = state.getInitialValue()) {
        pieces.padTo(kSegmentAlignment);
        StringRef bytes = bytesOf(*value);
        initial[state] = {pieces.size(), bytes.size()};
        pieces.add(bytes);
      }
      stateIndex[state.getSymName()] = states.size();
      states.push_back(state);
    }
  }

  /// The elements of `value` in memory layout. Those of resources are not
  /// copied: they may be as large as the model.
  StringRef bytesOf(ElementsAttr value) {
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
      ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
      return {data.data(), data.size()};
    }
    return copies.emplace_back(rawBytes(cast<DenseElementsAttr>(value)));
  }

  std::string buildRoot(uint64_t firstSegment) {
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    fb = &builder;
    auto options = buildOptions();
    auto stateTables = buildStates();
    std::vector<flatbuffers::Offset<fbs::Variant>> variantTables;
    for (const PackageVariant &variant : variants)
      variantTables.push_back(buildVariant(variant));
    auto segmentTables = buildSegments(firstSegment);
    auto producer = builder.CreateString("mpc 0.1.0");
    auto model = builder.CreateString(contents.model);
    bool scaling = bool(train::Program(variants.front().module)
                            .state(train::StateRole::LossScale));
    auto root = fbs::CreateProgram(
        builder, /*format=*/1, producer, model, options, stateTables,
        size(variants.front().module, "exec.state_size"),
        builder.CreateVector(variantTables), segmentTables, contents.accumulate,
        scaling);
    fbs::FinishProgramBuffer(builder, root);
    return std::string(reinterpret_cast<char *>(builder.GetBufferPointer()),
                       builder.GetSize());
  }

  flatbuffers::Offset<fbs::Variant>
  buildVariant(const PackageVariant &variant) {
    functionIndex.clear();
    functions.clear();
    auto entries = buildEntries(variant.module);
    auto functionTables = fb->CreateVector(functions);
    auto device = fb->CreateString(variant.device);
    flatbuffers::Offset<flatbuffers::String> cpu;
    if (!variant.cpu.empty())
      cpu = fb->CreateString(variant.cpu);
    auto features = fb->CreateVectorOfStrings(variant.features);
    return fbs::CreateVariant(*fb, device, cpu, features,
                              size(variant.module, "exec.arena_size"),
                              size(variant.module, "exec.arena_unshared_size"),
                              entries, functionTables);
  }

  static uint64_t size(ModuleOp module, StringRef name) {
    return module->getAttrOfType<IntegerAttr>(name).getInt();
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::Option>>>
  buildOptions() {
    std::vector<flatbuffers::Offset<fbs::Option>> list;
    for (const auto &[name, value] : contents.options)
      list.push_back(fbs::CreateOptionDirect(*fb, name.c_str(), value.c_str()));
    return fb->CreateVector(list);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::State>>>
  buildStates() {
    std::vector<flatbuffers::Offset<fbs::State>> list;
    for (train::StateOp state : states) {
      auto type = cast<RankedTensorType>(state.getType());
      std::vector<flatbuffers::Offset<fbs::Slot>> slots;
      if (ArrayAttr attributes = state.getSlotsAttr())
        for (auto slot : attributes.getAsRange<train::SlotAttr>()) {
          std::vector<int64_t> shape(slot.getShape().asArrayRef());
          slots.push_back(fbs::CreateSlotDirect(
              *fb, slot.getName().str().c_str(), slot.getOffset(), &shape));
        }
      auto [offset, bytes] = initial.lookup(state);
      int32_t copyOf = -1, of = -1;
      if (std::optional<StringRef> other = state.getOf())
        of = stateIndex.lookup(*other);
      if (std::optional<StringRef> source = state.getOf();
          source && state.getKind() == train::StateKind::WorkingCopy)
        copyOf = stateIndex.lookup(*source);
      std::vector<int64_t> shape(type.getShape());
      list.push_back(fbs::CreateStateDirect(
          *fb, state.getSymName().str().c_str(),
          static_cast<fbs::StateKind>(state.getKind()),
          dtypeOf(type.getElementType()), &shape,
          state->getAttrOfType<IntegerAttr>("exec.offset").getInt(), &slots,
          offset, bytes, copyOf, state.getOwnNames(),
          static_cast<fbs::StateRole>(state.getRole()), of));
    }
    return fb->CreateVector(list);
  }

  flatbuffers::Offset<fbs::Buffer> buildBuffer(exec::BufferAttr buffer) {
    std::vector<int64_t> shape(buffer.getType().getShape());
    return fbs::CreateBufferDirect(
        *fb, static_cast<fbs::Space>(buffer.getSpace()), buffer.getOffset(),
        dtypeOf(buffer.getType().getElementType()), &shape);
  }

  flatbuffers::Offset<fbs::Binding> buildBinding(DictionaryAttr info,
                                                 StringRef fallback) {
    auto buffer = buildBuffer(cast<exec::BufferAttr>(info.get("buffer")));
    auto nameAttr = info.getAs<StringAttr>("name");
    auto name =
        fb->CreateString((nameAttr ? nameAttr.getValue() : fallback).str());
    fbs::BindingBuilder binding(*fb);
    binding.add_name(name);
    binding.add_buffer(buffer);
    if (auto range = info.getAs<ArrayAttr>("range")) {
      binding.add_has_range(true);
      binding.add_low(cast<IntegerAttr>(range[0]).getInt());
      binding.add_high(cast<IntegerAttr>(range[1]).getInt());
    }
    if (auto ignored = info.getAs<IntegerAttr>("ignored")) {
      binding.add_has_ignored(true);
      binding.add_ignored(ignored.getInt());
    }
    if (auto dim = info.getAs<IntegerAttr>("batch_dim"))
      binding.add_batch_dim(dim.getInt());
    return binding.Finish();
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::Binding>>>
  buildBindings(ArrayAttr infos, StringRef prefix) {
    std::vector<flatbuffers::Offset<fbs::Binding>> list;
    for (auto [i, info] : llvm::enumerate(infos))
      list.push_back(buildBinding(cast<DictionaryAttr>(info),
                                  (prefix + llvm::Twine(i)).str()));
    return fb->CreateVector(list);
  }

  int32_t indexOfFunction(StringRef symbol) {
    auto [entry, isNew] = functionIndex.try_emplace(symbol, functions.size());
    if (isNew)
      functions.push_back(fbs::CreateFunctionDirect(*fb, symbol.str().c_str()));
    return entry->second;
  }

  flatbuffers::Offset<fbs::Instruction> buildInstruction(Operation *op) {
    std::vector<flatbuffers::Offset<fbs::Buffer>> operands;
    for (auto buffer : op->getAttrOfType<ArrayAttr>("operands")
                           .getAsRange<exec::BufferAttr>())
      operands.push_back(buildBuffer(buffer));
    auto nameAttr = op->getAttrOfType<StringAttr>("name");
    std::string name = nameAttr ? nameAttr.getValue().str() : "";
    if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
      std::vector<int64_t> itemElements(
          launch.getItemElements().value_or(ArrayRef<int64_t>()));
      return fbs::CreateInstructionDirect(
          *fb, name.c_str(), indexOfFunction(launch.getKernel()), 0, &operands,
          nullptr, launch.getItems(), launch.getGrain(), launch.getThreads(),
          launch.getShared(), launch.getResults(),
          itemElements.empty() ? nullptr : &itemElements);
    }
    auto call = cast<exec::CallOp>(op);
    std::vector<int64_t> parameters(call.getParameters());
    return fbs::CreateInstructionDirect(*fb, name.c_str(), -1,
                                        *kernelId(call.getKernel()), &operands,
                                        &parameters, 1, 1);
  }

  flatbuffers::Offset<fbs::Observation> buildObservation(DictionaryAttr row) {
    auto text = [&](StringRef name) -> std::string {
      auto attr = row.getAs<StringAttr>(name);
      return attr ? attr.getValue().str() : "";
    };
    auto kind = llvm::StringSwitch<fbs::ObservationKind>(text("kind"))
                    .Case("state", fbs::ObservationKind::State)
                    .Case("constant", fbs::ObservationKind::Constant)
                    .Case("forward", fbs::ObservationKind::Forward)
                    .Case("backward", fbs::ObservationKind::Backward)
                    .Case("update", fbs::ObservationKind::Update)
                    .Default(fbs::ObservationKind::Input);
    auto type =
        cast<RankedTensorType>(row.getAs<TypeAttr>("tensor").getValue());
    std::vector<int64_t> shape(type.getShape());
    std::vector<int64_t> reads(
        row.getAs<DenseI64ArrayAttr>("reads").asArrayRef());
    auto rounding = row.getAs<IntegerAttr>("rounding");
    return fbs::CreateObservationDirect(
        *fb, text("name").c_str(), kind, text("op").c_str(),
        text("type").c_str(), dtypeOf(type.getElementType()), &shape, &reads,
        static_cast<bool>(row.get("meant")), rounding ? rounding.getInt() : -1);
  }

  static fbs::EntryRole roleOf(exec::EntryOp entry) {
    std::optional<train::EntryRole> role = train::roleOf(entry);
    return role ? static_cast<fbs::EntryRole>(*role) : fbs::EntryRole::None;
  }

  /// The number of instructions before the first that writes a state, except
  /// for gradients, which mean nothing until `accumulate` has computed all of
  /// them.
  static uint32_t countReadsOnly(exec::EntryOp entry) {
    train::StateOp gradients =
        train::Program::around(entry).state(train::StateRole::RankGradients);
    auto isGradient = [&](exec::BufferAttr buffer) {
      if (!gradients)
        return false;
      int64_t begin =
          gradients->getAttrOfType<IntegerAttr>("exec.offset").getInt();
      auto type = cast<RankedTensorType>(gradients.getType());
      int64_t size = type.getNumElements() * type.getElementTypeBitWidth() / 8;
      return buffer.getOffset() >= begin && buffer.getOffset() < begin + size;
    };
    exec::DataflowAttr dataflow = entry.getDataflowAttr();
    if (!dataflow)
      return 0;
    llvm::SmallDenseSet<int64_t> held;
    for (NamedAttribute read : dataflow.getReads())
      held.insert(cast<exec::ValueAttr>(read.getValue()).getNumber());
    auto writesState = [&](Operation &op) {
      auto values = op.getAttrOfType<ArrayAttr>("values");
      auto buffers = op.getAttrOfType<ArrayAttr>("operands");
      return !values ||
             llvm::any_of(
                 llvm::zip_equal(values.getAsRange<exec::ValueAttr>(),
                                 buffers.getAsRange<exec::BufferAttr>()),
                 [&](auto operand) {
                   auto [value, buffer] = operand;
                   return buffer.getSpace() == exec::Space::State &&
                          !held.contains(value.getNumber()) &&
                          !isGradient(buffer);
                 });
    };
    Block &body = entry.getBody().front();
    return std::distance(body.begin(), llvm::find_if(body, writesState));
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::Entry>>>
  buildEntries(ModuleOp module) {
    std::vector<flatbuffers::Offset<fbs::Entry>> list;
    for (auto entry : module.getOps<exec::EntryOp>()) {
      auto inputs = buildBindings(entry.getInputs(), "input");
      auto outputs = buildBindings(entry.getOutputs(), "output");
      std::vector<flatbuffers::Offset<fbs::Instruction>> instructions;
      for (Operation &op : entry.getBody().front())
        instructions.push_back(buildInstruction(&op));
      std::vector<flatbuffers::Offset<fbs::Observation>> observations;
      if (auto rows = entry->getAttrOfType<ArrayAttr>(kObservationsAttr))
        for (auto row : rows.getAsRange<DictionaryAttr>())
          observations.push_back(buildObservation(row));
      std::vector<int64_t> tested;
      if (auto rows = entry->getAttrOfType<DenseI64ArrayAttr>(kTestedAttr))
        tested = rows.asArrayRef().vec();
      auto name = fb->CreateString(train::entryName(entry));
      list.push_back(fbs::CreateEntry(
          *fb, name, inputs, outputs, fb->CreateVector(instructions),
          fb->CreateVector(observations), fb->CreateVector(tested),
          countReadsOnly(entry), roleOf(entry),
          train::otherBatchOf(entry).value_or(0)));
    }
    return fb->CreateVector(list);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::Segment>>>
  buildSegments(uint64_t offset) {
    std::vector<flatbuffers::Offset<fbs::Segment>> list;
    for (const Segment &segment : segments) {
      list.push_back(fbs::CreateSegmentDirect(
          *fb, segment.kind, segment.target.c_str(), offset,
          segment.bytes.size(), segment.bytes.checksum(),
          segment.form.empty() ? nullptr : segment.form.c_str()));
      offset = llvm::alignTo(offset + segment.bytes.size(), kSegmentAlignment);
    }
    return fb->CreateVector(list);
  }

  ArrayRef<PackageVariant> variants;
  const PackageContents &contents;
  flatbuffers::FlatBufferBuilder *fb = nullptr;
  std::deque<Segment> segments;   ///< In the order of the file.
  std::deque<std::string> copies; ///< Small initial values.
  std::vector<train::StateOp> states;
  DenseMap<Operation *, std::pair<uint64_t, uint64_t>> initial;
  llvm::StringMap<int32_t> stateIndex;
  llvm::StringMap<int32_t> functionIndex;
  std::vector<flatbuffers::Offset<fbs::Function>> functions;
};

} // namespace

/// Name, offset and type of each state, in order.
static std::string describeStates(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (auto state : module.getOps<train::StateOp>())
    stream << state.getSymName() << " at " << state->getAttr("exec.offset")
           << ": " << state.getType() << "\n";
  return text;
}

FailureOr<uint64_t> mpc::writePackage(ArrayRef<PackageVariant> variants,
                                      const PackageContents &contents,
                                      llvm::raw_ostream &out) {
  std::string states = describeStates(variants.front().module);
  for (const PackageVariant &variant : variants.drop_front())
    if (describeStates(variant.module) != states)
      return ModuleOp(variant.module)
          .emitError("internal error: the states differ between the devices");
  return PackageWriter(variants, contents).write(out);
}

FailureOr<std::string> mpc::buildPackage(ArrayRef<PackageVariant> variants,
                                         const PackageContents &contents) {
  std::string file;
  llvm::raw_string_ostream stream(file);
  if (failed(writePackage(variants, contents, stream)))
    return failure();
  return file;
}
