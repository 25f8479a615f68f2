//===- Library.cpp - The C API of libmpccompiler --------------------------===//
//
// See mpc/compiler.h. No exception may reach the caller.
//
//===----------------------------------------------------------------------===//

#include "passes/Driver/Pipeline.h"
#include "passes/Options/OptionText.h"

#include "mpc/compiler.h"

#include <cassert>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>

using namespace mpc;

struct mpc_compile_options_s {
  CompileOptions options;
  mpc_compile_handler_t handler = nullptr;
  void *user = nullptr;
};

struct mpc_compilation_s {
  CompileResult result;
};

static mpc_status_t fail(mpc_code_t code, const std::string &message) {
  return mpc_status_make(code, "%s", message.c_str());
}

/// Calls `work`, and turns an exception into an error.
template <typename Work> static mpc_status_t guarded(Work work) {
  try {
    return work();
  } catch (const std::bad_alloc &) {
    return fail(MPC_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &error) {
    return fail(MPC_INTERNAL, error.what());
  }
}

static mpc_status_t set(CompileOptions &options, const std::string &name,
                        const std::string &value) {
  const OptionRow *row = findOption(name);
  if (!row) {
    std::vector<std::string> names;
    for (const OptionRow &known : optionRows())
      names.push_back(known.name);
    return fail(MPC_INVALID_ARGUMENT,
                "unknown option '" + name + "'" + suggest(name, names));
  }
  CompileOptions changed = options;
  if (std::string fault = setOption(changed, name, value); !fault.empty())
    return fail(MPC_INVALID_ARGUMENT, "option '" + name + "' " + fault);
  changed.given.insert(name);
  options = std::move(changed);
  return nullptr;
}

static mpc_code_t codeOf(ModelError error) {
  switch (error) {
  case ModelError::None:
    return MPC_OK;
  case ModelError::Usage:
  case ModelError::Invalid:
    return MPC_INVALID_ARGUMENT;
  case ModelError::Io:
    return MPC_IO;
  case ModelError::Limit:
    return MPC_OUT_OF_MEMORY;
  case ModelError::Internal:
    break;
  }
  return MPC_INTERNAL;
}

/// Diagnostics and error in one text.
static std::string messageOf(const CompileResult &result) {
  std::string text = result.diagnostics + result.error;
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

static mpc_compile_message_kind_t kindOf(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Error:
    return MPC_COMPILE_ERROR;
  case mlir::DiagnosticSeverity::Warning:
    return MPC_COMPILE_WARNING;
  case mlir::DiagnosticSeverity::Note:
  case mlir::DiagnosticSeverity::Remark:
    break;
  }
  return MPC_COMPILE_DETAIL;
}

/// Calls the handler, if there is one.
static void tell(const mpc_compile_options_t *given,
                 mpc_compile_message_kind_t kind, const ModelMessage &content) {
  if (!given || !given->handler)
    return;
  mpc_compile_message_t message = {sizeof(message),      kind,
                                   content.node.c_str(), content.op.c_str(),
                                   content.text.c_str(), content.rule.c_str()};
  given->handler(given->user, &message);
}

/// An error that names no node.
static ModelMessage errorMessage(const std::string &text, Fault fault) {
  return {mlir::DiagnosticSeverity::Error, "", "", text, idOf(fault).str()};
}

/// Calls the handler with everything that a compilation has to say.
static void report(const mpc_compile_options_t *given,
                   const CompileResult &result) {
  for (const std::string &note : result.notes)
    tell(given, MPC_COMPILE_NOTE,
         {mlir::DiagnosticSeverity::Remark, "", "", note, ""});
  for (const ModelMessage &message : result.messages)
    tell(given, kindOf(message.severity), message);
  if (!result.error.empty())
    tell(given, MPC_COMPILE_ERROR, errorMessage(result.error, *result.fault));
}

/// Compiles a file or, if `bytes` is set, a model in memory of this name.
static mpc_status_t compileModel(const std::string &model,
                                 std::optional<llvm::StringRef> bytes,
                                 const char *output,
                                 const mpc_compile_options_t *given,
                                 mpc_compilation_t **out) {
  CompileOptions options = given ? given->options : CompileOptions();
  auto compilation = std::make_unique<mpc_compilation_s>();
  CompileResult &result = compilation->result;
  result.error = checkGiven(options);
  if (result.error.empty()) {
    options.model = model;
    options.output = output ? output : "";
    options.openWeights = openSafetensorsWeights;
    if (!bytes)
      options.modelPath = std::filesystem::absolute(model).string();
    result = compile(options, bytes);
  } else {
    result.failure = ModelError::Usage;
    result.fault = Fault::OptionConflict;
  }
  report(given, result);
  if (failed(result.failure))
    return fail(codeOf(result.failure), messageOf(result));
  *out = compilation.release();
  return nullptr;
}

static mpc_option_type_t typeOf(const OptionRow &row) {
  static const std::pair<const char *, mpc_option_type_t> kTypes[] = {
      {"std::string", MPC_OPTION_TEXT}, {"bool", MPC_OPTION_SWITCH},
      {"int64_t", MPC_OPTION_INTEGER},  {"OptionalNumber", MPC_OPTION_INTEGER},
      {"double", MPC_OPTION_NUMBER},    {"Texts", MPC_OPTION_TEXTS},
      {"Numbers", MPC_OPTION_INTEGERS}, {"NumberByName", MPC_OPTION_PAIRS}};
  for (auto [name, type] : kTypes)
    if (std::strcmp(name, row.type) == 0)
      return type;
  assert(false && "an option of a type without a row above");
  return MPC_OPTION_TEXT;
}

mpc_status_t mpc_compile_options_create(mpc_compile_options_t **out_options) {
  if (!out_options)
    return fail(MPC_INVALID_ARGUMENT, "the result is NULL");
  return guarded([&]() -> mpc_status_t {
    *out_options = new mpc_compile_options_s();
    return nullptr;
  });
}

void mpc_compile_options_destroy(mpc_compile_options_t *options) {
  delete options;
}

mpc_status_t mpc_compile_options_set(mpc_compile_options_t *options,
                                     const char *name, const char *value) {
  if (!options || !name || !value)
    return fail(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return guarded([&] {
    mpc_status_t status = set(options->options, name, value);
    if (status)
      tell(options, MPC_COMPILE_ERROR,
           errorMessage(mpc_status_message(status), Fault::InvalidOption));
    return status;
  });
}

void mpc_compile_options_set_handler(mpc_compile_options_t *options,
                                     mpc_compile_handler_t handler,
                                     void *user) {
  if (!options)
    return;
  options->handler = handler;
  options->user = user;
}

size_t mpc_compile_num_options(void) { return optionRows().size(); }

mpc_status_t mpc_compile_option_info(size_t index,
                                     mpc_option_info_t *out_info) {
  if (!out_info || out_info->struct_size != sizeof(*out_info))
    return fail(MPC_INVALID_ARGUMENT,
                "struct_size is not sizeof(mpc_option_info_t)");
  if (index >= optionRows().size())
    return fail(MPC_INVALID_ARGUMENT,
                "there is no option " + std::to_string(index));
  const OptionRow &row = optionRows()[index];
  *out_info = {sizeof(*out_info),
               row.name,
               typeOf(row),
               row.metavar,
               row.byDefault.c_str(),
               (row.isRare ? row.rareSection : row.section).c_str(),
               row.help.c_str()};
  return nullptr;
}

mpc_status_t mpc_compile(const char *model, const char *output,
                         const mpc_compile_options_t *options,
                         mpc_compilation_t **out_compilation) {
  if (!model || !out_compilation)
    return fail(MPC_INVALID_ARGUMENT, "an argument is NULL");
  *out_compilation = nullptr;
  return guarded([&] {
    return compileModel(model, std::nullopt, output, options, out_compilation);
  });
}

mpc_status_t mpc_compile_memory(const void *model, size_t size,
                                const char *folder, const char *output,
                                const mpc_compile_options_t *options,
                                mpc_compilation_t **out_compilation) {
  if (!model || !out_compilation)
    return fail(MPC_INVALID_ARGUMENT, "an argument is NULL");
  *out_compilation = nullptr;
  return guarded([&] {
    std::string name = "model.onnx";
    if (folder)
      name = (*folder ? folder : ".") + ("/" + name);
    llvm::StringRef bytes(static_cast<const char *>(model), size);
    return compileModel(name, bytes, output, options, out_compilation);
  });
}

void mpc_compilation_destroy(mpc_compilation_t *compilation) {
  delete compilation;
}

const void *mpc_compilation_package(const mpc_compilation_t *compilation,
                                    size_t *out_size) {
  const bool has = compilation && !compilation->result.package.empty();
  if (out_size)
    *out_size = has ? compilation->result.package.size() : 0;
  return has ? compilation->result.package.data() : nullptr;
}

size_t mpc_compilation_num_notes(const mpc_compilation_t *compilation) {
  return compilation ? compilation->result.notes.size() : 0;
}

const char *mpc_compilation_note(const mpc_compilation_t *compilation,
                                 size_t index) {
  return index < mpc_compilation_num_notes(compilation)
             ? compilation->result.notes[index].c_str()
             : nullptr;
}

const char *mpc_compilation_report(const mpc_compilation_t *compilation) {
  return compilation ? compilation->result.report.c_str() : "";
}
