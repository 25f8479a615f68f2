//===- Diagnostics.cpp - Diagnostics in terms of the model ----------------===//

#include "compiler/Support/Diagnostics.h"

#include "compiler/Support/Faults.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/ModelMessage.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

static StringRef severityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  return "error";
}

/// Removes the `'train.conv' op ` that emitOpError puts in front.
static StringRef dropOpPrefix(StringRef message) {
  StringRef rest = message;
  if (!rest.consume_front("'"))
    return message;
  auto [name, tail] = rest.split("' op ");
  bool isOpName = name.contains('.') && !name.contains(' ') && !tail.empty();
  return isOpName ? tail : message;
}

/// Writes types of tensors as models do: "f32[2,3]" instead of
/// "'tensor<2x3xf32>'".
static std::string inModelTypes(StringRef message) {
  static constexpr StringLiteral begin = "'tensor<", end = ">'";
  std::string text;
  for (size_t at; (at = message.find(begin)) != StringRef::npos;) {
    size_t last = message.find(end, at);
    if (last == StringRef::npos)
      break;
    StringRef type = message.slice(at + begin.size(), last);
    SmallVector<StringRef> parts;
    type.split(parts, 'x');
    text += message.take_front(at);
    StringRef element = parts.pop_back_val();
    text += element.str() + "[" + llvm::join(parts, ",") + "]";
    message = message.drop_front(last + end.size());
  }
  return text + message.str();
}

/// Prints the subject of a message: "node 'fc1' (Gemm): ". A type in lower case
/// is not an ONNX op but a kind of object: "initializer 'fc1.weight': ".
static void printSubject(raw_ostream &os, StringRef name, StringRef type) {
  if (!type.empty() && type.front() >= 'a' && type.front() <= 'z' &&
      !type.contains('.')) {
    os << type << " '" << name << "': ";
    return;
  }
  os << "node '" << name << "'";
  if (!type.empty())
    os << " (" << type << ")";
  os << ": ";
}

/// Replaces what a terminal would act on: names come from the file.
static std::string makePrintable(std::string text) {
  if (!llvm::json::isUTF8(text))
    text = llvm::json::fixUTF8(text);
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i];
    // C1 controls, such as CSI (U+009B), are two bytes in UTF-8.
    bool isLate = c == 0xc2 && i + 1 < text.size() &&
                  static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (isLate)
      text.erase(i, 1);
    if (isLate || c < ' ' || c == 0x7f)
      text[i] = '?';
  }
  return text;
}

InFlightDiagnostic mpc::emitUsageError(Location loc) {
  return emitError(loc) << Fault::OptionConflict;
}

bool mpc::isUsageError(Diagnostic &diagnostic) {
  return faultOf(diagnostic) == Fault::OptionConflict;
}

std::string mpc::describe(const Diagnostic &diagnostic) {
  std::string text = diagnostic.str(), line;
  llvm::raw_string_ostream os(line);
  Location loc = diagnostic.getLocation();
  if (nodeName(loc).empty())
    return text;
  printSubject(os, nodeName(loc), nodeType(loc));
  os << inModelTypes(dropOpPrefix(text));
  return line;
}

mpc::ModelDiagnosticHandler::ModelDiagnosticHandler(MLIRContext *context,
                                                    StringRef model,
                                                    raw_ostream &os)
    : ScopedDiagnosticHandler(context), model(model.str()), out(os) {
  setHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      ++numErrors;
    usageErrors |= isUsageError(diagnostic);
    print(diagnostic);
    for (const Diagnostic &note : diagnostic.getNotes())
      print(note);
    return success();
  });
}

void mpc::ModelDiagnosticHandler::print(const Diagnostic &diagnostic) {
  std::string text = diagnostic.str(), line;
  StringRef message = text;
  bool isNote = diagnostic.getSeverity() == DiagnosticSeverity::Note;
  if (isNote && message.starts_with("see current operation"))
    return;

  llvm::raw_string_ostream os(line);
  Location loc = diagnostic.getLocation();
  StringRef name = nodeName(loc);
  auto position = loc->findInstanceOf<FileLineColLoc>();
  if (position && position.getLine() > 0) {
    os << position.getFilename().getValue() << ":" << position.getLine();
    if (position.getColumn() > 0)
      os << ":" << position.getColumn();
    os << ": ";
  } else {
    os << model << ": ";
  }
  if (!name.empty()) {
    printSubject(os, name, nodeType(loc));
    message = dropOpPrefix(message);
  }
  os << severityName(diagnostic.getSeverity()) << ": "
     << (name.empty() ? message.str() : inModelTypes(message));
  out << makePrintable(line) << "\n";
}

mpc::ModelMessageCollector::ModelMessageCollector(
    MLIRContext *context, std::vector<ModelMessage> &messages)
    : ScopedDiagnosticHandler(context) {
  auto add = [&messages](Diagnostic &diagnostic) {
    std::string text = diagnostic.str();
    if (StringRef(text).starts_with("see current operation"))
      return;
    Location loc = diagnostic.getLocation();
    StringRef name = nodeName(loc);
    std::optional<Fault> fault = faultOf(diagnostic);
    if (!name.empty())
      text = inModelTypes(dropOpPrefix(text));
    messages.push_back({diagnostic.getSeverity(), makePrintable(name.str()),
                        makePrintable(nodeType(loc).str()), makePrintable(text),
                        fault ? idOf(*fault).str() : ""});
  };
  setHandler([add](Diagnostic &diagnostic) {
    add(diagnostic);
    for (Diagnostic &note : diagnostic.getNotes())
      add(note);
    return failure(); // The handler before it gets the diagnostic, too.
  });
}
