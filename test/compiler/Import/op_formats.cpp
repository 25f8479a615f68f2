//===- op_formats.cpp - What ops and kernels can be computed in -----------===//

#include "op_formats.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "kernels/catalog.h"

using namespace mpc;

/// Devices with their own kernels.
static std::set<std::string_view> devices() {
  std::set<std::string_view> names;
  for (const kernels::KernelType &row : kernels::kKernelTypes)
    names.insert(row.device);
  return names;
}

/// Devices that run a kernel on operands of `type` (the catalog's name); all
/// devices for generated code, whose kernel name is "".
static std::set<std::string_view> devicesOf(std::string_view kernel,
                                            std::string_view type) {
  if (kernel.empty())
    return devices();
  std::set<std::string_view> names;
  for (const kernels::KernelType &row : kernels::kKernelTypes)
    if (kernel == row.kernel && type == row.type)
      names.insert(row.device);
  return names;
}

void OpFormats::learn(amp::PrecisionOpInterface made) {
  auto isFloat = [](mlir::Type type) {
    return mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
  };
  if (!llvm::any_of(made->getResultTypes(), isFloat))
    return;
  bool isMove =
      made.getPrecisionClass(nullptr) == amp::PrecisionClass::Transparent;
  computes |= !isMove;
  Formats &formats = isMove ? moving : computing;
  auto op = mlir::dyn_cast<train::KernelOpInterface>(made.getOperation());
  std::string_view kernel = op ? op.getKernelName() : "";
  auto add = [&](const char *format) {
    if (auto found = devicesOf(kernel, format); !found.empty())
      formats[format].insert(found.begin(), found.end());
  };
  mlir::Builder builder(made->getContext());
  for (auto [name, type] : {std::pair("bf16", builder.getBF16Type()),
                            std::pair("f16", builder.getF16Type())})
    if (made.getPrecisionClass(type) != amp::PrecisionClass::Sensitive)
      add(name);
  if (op)
    add("tf32");
}

std::string mpc::join(const std::set<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "-" : text;
}

std::string OpFormats::text() const {
  std::set<std::string> words;
  for (const auto &[format, on] : computes ? computing : moving) {
    std::string names;
    for (std::string_view device : on)
      names += (names.empty() ? " (" : ", ") + std::string(device);
    words.insert(format + (on == devices() ? "" : names + ")"));
  }
  return join(words);
}

void mpc::writeKernels(llvm::raw_ostream &os) {
  os << "\n## Kernels\n\nTypes in which the kernels of `kernels/catalog.def` "
        "compute; other types are widened to f32.\n\n| kernel |";
  for (std::string_view device : devices())
    os << ' ' << device << " |";
  os << "\n| --- |";
  for (size_t i = 0; i < devices().size(); ++i)
    os << " --- |";
  os << '\n';
  std::map<std::string_view, std::map<std::string_view, std::set<std::string>>>
      types;
  for (const kernels::KernelType &row : kernels::kKernelTypes)
    types[row.kernel][row.device].insert(
        std::string(row.type) +
        (row.feature.empty() ? "" : " (" + std::string(row.feature) + ")"));
  for (const auto &[kernel, on] : types) {
    os << "| " << kernel << " |";
    for (std::string_view device : devices())
      os << ' ' << (on.count(device) ? join(on.at(device)) : "-") << " |";
    os << '\n';
  }
}
