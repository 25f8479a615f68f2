//===- Inspect.cpp - mpc inspect ------------------------------------------===//
//
// Shows the contents of a package without executing or loading its code.
//
//===----------------------------------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Package.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/base/Text.h"

#include "kernels/devices.h"
#include "kernels/shapes.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

using namespace mpc::tool;
using Json = nlohmann::ordered_json;

namespace {
struct InspectCommand {
  std::string package, ptx;
  bool json = false, instructions = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// From tables to JSON
//===----------------------------------------------------------------------===//

static std::string textOf(const flatbuffers::String *string) {
  return string ? string->str() : "";
}

/// "f32[64,10]".
static std::string typeOf(mpc::program::DType dtype,
                          const flatbuffers::Vector<int64_t> *shape) {
  std::vector<int64_t> extents;
  if (shape)
    extents.assign(shape->begin(), shape->end());
  return formatType(static_cast<mpc_dtype_t>(dtype), extents);
}

template <typename Table, typename Convert>
static Json
listOf(const flatbuffers::Vector<flatbuffers::Offset<Table>> *tables,
       Convert convert) {
  Json list = Json::array();
  if (tables)
    for (const Table *table : *tables)
      list.push_back(convert(*table));
  return list;
}

static Json describe(const mpc::program::Binding &binding) {
  Json json = {
      {"name", textOf(binding.name())},
      {"type", typeOf(binding.buffer()->dtype(), binding.buffer()->shape())},
      {"batch_dim", binding.batch_dim()}};
  if (binding.has_range())
    json["range"] = {binding.low(), binding.high()};
  if (binding.has_ignored())
    json["ignored"] = binding.ignored();
  return json;
}

static Json describe(const mpc::program::Instruction &instruction,
                     const mpc::program::Variant &variant) {
  Json json = {{"name", textOf(instruction.name())}};
  if (instruction.function() >= 0 && variant.functions() &&
      static_cast<uint32_t>(instruction.function()) <
          variant.functions()->size())
    json["function"] =
        textOf(variant.functions()->Get(instruction.function())->symbol());
  else {
    // The package has been verified, so every kernel is in the catalog.
    const char *name = mpc::kernels::kernel_name(
        static_cast<mpc::kernels::KernelId>(instruction.kernel()));
    json["kernel"] = instruction.kernel();
    json["kernel_name"] = name ? name : "kernel";
  }
  json["operands"] =
      listOf(instruction.operands(), [](const mpc::program::Buffer &buffer) {
        bool inState = buffer.space() == mpc::program::Space::State;
        return Json{{"type", typeOf(buffer.dtype(), buffer.shape())},
                    {"space", inState ? "state" : "arena"},
                    {"offset", buffer.offset()}};
      });
  if (instruction.function() >= 0)
    json["items"] = instruction.items();
  if (instruction.threads() > 0)
    json["threads"] = instruction.threads();
  if (instruction.shared_bytes() > 0)
    json["shared_bytes"] = instruction.shared_bytes();
  if (const auto *elements = instruction.item_elements())
    json["item_elements"] =
        std::vector<int64_t>(elements->begin(), elements->end());
  return json;
}

static Json describe(const mpc::program::Entry &entry,
                     const mpc::program::Variant &variant,
                     bool withInstructions) {
  auto binding = [](const mpc::program::Binding &table) {
    return describe(table);
  };
  Json json = {{"name", textOf(entry.name())},
               {"inputs", listOf(entry.inputs(), binding)},
               {"outputs", listOf(entry.outputs(), binding)}};
  json["instruction_count"] =
      entry.instructions() ? entry.instructions()->size() : 0;
  json["instructions_before_writes"] = entry.reads_only();
  if (withInstructions)
    json["instructions"] = listOf(entry.instructions(),
                                  [&](const mpc::program::Instruction &table) {
                                    return describe(table, variant);
                                  });
  return json;
}

static const char *kindName(mpc::program::StateKind kind) {
  using mpc::program::StateKind;
  switch (kind) {
  case StateKind::Parameter:
    return "parameter";
  case StateKind::Statistic:
    return "statistic";
  case StateKind::Constant:
    return "constant";
  case StateKind::Optimizer:
    return "optimizer";
  case StateKind::WorkingCopy:
    return "working copy";
  case StateKind::Control:
    return "control";
  case StateKind::Derived:
    return "derived";
  }
  return "?";
}

static Json describe(const mpc::program::State &state) {
  Json json = {{"name", textOf(state.name())},
               {"kind", kindName(state.kind())},
               {"type", typeOf(state.dtype(), state.shape())}};
  if (state.slots() && state.slots()->size() > 0)
    json["slots"] = listOf(state.slots(), [&](const mpc::program::Slot &slot) {
      return Json{{"name", textOf(slot.name())},
                  {"type", typeOf(state.dtype(), slot.shape())},
                  {"offset", slot.offset()}};
    });
  return json;
}

static std::string kindName(const mpc::program::Segment &segment) {
  using mpc::program::SegmentKind;
  switch (segment.kind()) {
  case SegmentKind::Code:
    return "code";
  case SegmentKind::States:
    return "initial states";
  case SegmentKind::Report:
    return "precision report";
  case SegmentKind::Ptx:
    return "PTX";
  case SegmentKind::Cubin:
    return "cubin";
  case SegmentKind::Other:
    return textOf(segment.form());
  }
  return "?";
}

/// Whether a segment is code that `device` may load, rather than code for
/// another kind of device.
static bool isImage(const mpc::program::Segment &segment,
                    const mpc::kernels::DeviceRow &device) {
  using mpc::program::SegmentKind;
  if (segment.kind() != SegmentKind::Ptx &&
      segment.kind() != SegmentKind::Cubin &&
      segment.kind() != SegmentKind::Other)
    return false;
  const std::string target = textOf(segment.target());
  for (const mpc::kernels::DeviceRow &row : mpc::kernels::kDevices)
    for (std::string_view architecture : mpc::kernels::list_architectures(row))
      if (architecture == target)
        return &row == &device;
  return true;
}

/// The code of the variant for `device`: "PTX sm_80", "cubin sm_90". A host has
/// a single segment, which is not listed.
static Json describeImages(const mpc::program::Program &root,
                           const std::string &device) {
  Json images = Json::array();
  const mpc::kernels::DeviceRow *row = mpc::kernels::find_device(device);
  if (!row || row->architectures.empty() || !root.segments())
    return images;
  for (const mpc::program::Segment *segment : *root.segments())
    if (isImage(*segment, *row))
      images.push_back(kindName(*segment) + " " + textOf(segment->target()));
  return images;
}

static Json describe(const mpc::program::Program &root,
                     const mpc::program::Variant &variant,
                     bool withInstructions) {
  Json json = {{"device", textOf(variant.device())}};
  if (variant.cpu()) {
    json["target_cpu"] = textOf(variant.cpu());
    json["target_features"] = Json::array();
    if (variant.cpu_features())
      for (const flatbuffers::String *feature : *variant.cpu_features())
        json["target_features"].push_back(feature->str());
  }
  if (Json images = describeImages(root, json["device"]); !images.empty())
    json["images"] = std::move(images);
  json["memory"] = {{"arena", variant.arena_size()},
                    {"arena_without_reuse", variant.arena_unshared_size()}};
  json["entries"] =
      listOf(variant.entries(), [&](const mpc::program::Entry &entry) {
        return describe(entry, variant, withInstructions);
      });
  json["functions"] = variant.functions() ? variant.functions()->size() : 0;
  return json;
}

static Json describe(const Package &package, const InspectCommand &options) {
  const mpc::program::Program &root = package.root();
  Json json;
  json["package"] = options.package;
  json["bytes"] = package.size();
  json["format"] = root.format();
  json["producer"] = textOf(root.producer());
  json["model"] = textOf(root.model());
  json["runs_here"] = package.obstacle().empty();
  if (!package.obstacle().empty())
    json["obstacle"] = package.obstacle();
  json["options"] = Json::object();
  if (root.options())
    for (const mpc::program::Option *option : *root.options())
      json["options"][textOf(option->name())] = textOf(option->value());
  json["memory"] = {{"states", root.state_size()}};
  json["variants"] =
      listOf(root.variants(), [&](const mpc::program::Variant &variant) {
        return describe(root, variant, options.instructions);
      });
  json["states"] = listOf(root.states(), [](const mpc::program::State &state) {
    return describe(state);
  });
  json["segments"] =
      listOf(root.segments(), [](const mpc::program::Segment &segment) {
        return Json{{"kind", kindName(segment)},
                    {"target", textOf(segment.target())},
                    {"offset", segment.offset()},
                    {"bytes", segment.size()}};
      });
  return json;
}

//===----------------------------------------------------------------------===//
// From JSON to text
//===----------------------------------------------------------------------===//

/// A name for a table, in one line.
static std::string textAt(const Json &json, const char *key) {
  return printable(json.at(key).get<std::string>());
}

/// Joins the lines of an option that may be given several times.
static std::string joinLines(const std::string &text) {
  std::string joined;
  for (char c : text)
    joined += c == '\n' ? std::string(", ") : std::string(1, c);
  return joined;
}

/// "in [0, 10)", "below 10", "from 0 on".
static std::string rangeText(const Json &range) {
  std::string low = range[0].dump(), high = range[1].dump();
  if (range[1] == INT64_MAX)
    return "from " + low + " on";
  if (range[0] == INT64_MIN)
    return "below " + high;
  return "in [" + low + ", " + high + ")";
}

static void printEntries(const Json &entries) {
  for (const Json &entry : entries) {
    printResult("\n%s: %s\n", textAt(entry, "name").c_str(),
                formatCount(entry.at("instruction_count").get<uint64_t>(),
                            "instruction")
                    .c_str());
    for (const char *side : {"inputs", "outputs"})
      for (const Json &binding : entry.at(side)) {
        std::string range;
        if (binding.contains("range"))
          range = "  " + rangeText(binding["range"]);
        if (binding.contains("ignored"))
          range += ", ignores " + binding["ignored"].dump();
        printResult("  %-3s %-24s %s%s\n", side[0] == 'i' ? "in" : "out",
                    textAt(binding, "name").c_str(),
                    textAt(binding, "type").c_str(), range.c_str());
      }
    if (!entry.contains("instructions"))
      continue;
    for (const Json &instruction : entry["instructions"]) {
      std::string operands;
      for (const Json &operand : instruction["operands"])
        operands += " " + textAt(operand, "type");
      std::string code = instruction.contains("function")
                             ? textAt(instruction, "function")
                             : textAt(instruction, "kernel_name");
      printResult("      %-24s %s:%s\n", code.c_str(),
                  textAt(instruction, "name").c_str(), operands.c_str());
    }
  }
}

static void printStates(const Json &states) {
  printResult("\nstates\n");
  for (const Json &state : states) {
    printResult("  %-13s %-32s %s\n", textAt(state, "kind").c_str(),
                textAt(state, "name").c_str(), textAt(state, "type").c_str());
    if (state["kind"] != "parameter" || !state.contains("slots"))
      continue;
    for (const Json &slot : state["slots"])
      printResult("  %-13s   %-30s %s\n", "", textAt(slot, "name").c_str(),
                  textAt(slot, "type").c_str());
  }
}

static void printPackage(const Json &json) {
  auto bytes = [](const Json &number) {
    return formatBytes(number.get<uint64_t>());
  };
  printResult("%s: %s, from %s by %s\n", textAt(json, "package").c_str(),
              bytes(json["bytes"]).c_str(), textAt(json, "model").c_str(),
              textAt(json, "producer").c_str());
  if (json.contains("obstacle"))
    printResult("cannot run here: %s\n", textAt(json, "obstacle").c_str());

  printResult("\noptions\n");
  for (const auto &[name, value] : json["options"].items())
    // "auto" means that the option was not given; it does not accept that.
    if (name != "batchnorm" || value != "auto")
      printResult("  %-24s %s\n", printable(name).c_str(),
                  printable(joinLines(value.get<std::string>())).c_str());

  printResult("\nmemory of a session\n");
  printResult("  states                   %s\n",
              bytes(json["memory"]["states"]).c_str());
  for (const Json &variant : json["variants"])
    printResult("  arena on %-15s %s (%s if no buffers shared memory)\n",
                textAt(variant, "device").c_str(),
                bytes(variant["memory"]["arena"]).c_str(),
                bytes(variant["memory"]["arena_without_reuse"]).c_str());

  for (const Json &variant : json["variants"]) {
    std::string device = textAt(variant, "device");
    if (variant.contains("target_cpu"))
      device += " (" + textAt(variant, "target_cpu") + ")";
    if (variant.contains("images"))
      device += " (" +
                joinWords(variant["images"].get<std::vector<std::string>>()) +
                ")";
    printResult(
        "\nfor %s: %s of generated code\n", device.c_str(),
        formatCount(variant["functions"].get<uint64_t>(), "function").c_str());
    printEntries(variant["entries"]);
  }
  printStates(json["states"]);

  printResult("\nsegments\n");
  for (const Json &segment : json["segments"])
    printResult(
        "  %-24s %s\n",
        (textAt(segment, "kind") + " " + textAt(segment, "target")).c_str(),
        bytes(segment["bytes"]).c_str());
}

/// Prints the PTX for one architecture.
static int printPtx(const Package &package, const std::string &architecture) {
  std::string others;
  std::vector<const mpc::program::Segment *> segments;
  if (package.root().segments())
    segments.assign(package.root().segments()->begin(),
                    package.root().segments()->end());
  for (const mpc::program::Segment *segment : segments) {
    if (segment->kind() != mpc::program::SegmentKind::Ptx)
      continue;
    if (textOf(segment->target()) == architecture) {
      std::string_view text = package.contentOf(*segment);
      std::fwrite(text.data(), 1, text.size(), stdout);
      return Ok;
    }
    others += (others.empty() ? "" : ", ") + textOf(segment->target());
  }
  throw Failure(Usage, "the package has no PTX for '" + architecture + "'" +
                           (others.empty() ? "" : ", only for " + others));
}

static int runInspect(const InspectCommand &options) {
  Package package(options.package);
  if (!options.ptx.empty())
    return printPtx(package, options.ptx);
  Json json = describe(package, options);
  if (options.json)
    printJson(json, 2);
  else
    printPackage(json);
  return Ok;
}

Action mpc::tool::addInspect(CLI::App &app) {
  auto options = std::make_shared<InspectCommand>();
  CLI::App *inspect = app.add_subcommand(
      "inspect", "Show what a package contains, without executing it");
  inspect->add_option("package", options->package, "Compiled model (.mpc)")
      ->option_text("MODEL.mpc")
      ->required();
  inspect->add_flag("--instructions", options->instructions,
                    "List the instructions of each entry point");
  inspect
      ->add_option("--ptx", options->ptx,
                   "Print the PTX for an architecture, such as sm_80")
      ->option_text("ARCH");
  inspect->add_flag("--json", options->json, "Print one JSON object");
  return [options] { return runInspect(*options); };
}
