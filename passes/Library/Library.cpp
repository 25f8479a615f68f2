//===- Library.cpp - The C API of libmpccompiler --------------------------===//
//
// See mpc/compiler.h. No exception may reach the caller.
//
//===----------------------------------------------------------------------===//

#include "passes/Driver/Pipeline.h"
#include "passes/Options/OptionText.h"

#include "mpc/compiler.h"

#include <exception>
#include <filesystem>
#include <new>

using namespace mpc;

struct mpc_compile_options_s {
  CompileOptions options;
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

static mpc_status_t compileFile(const char *model, const char *output,
                                const mpc_compile_options_t *given,
                                mpc_compilation_t **out) {
  CompileOptions options = given ? given->options : CompileOptions();
  if (std::string fault = checkGiven(options); !fault.empty())
    return fail(MPC_INVALID_ARGUMENT, fault);
  options.model = model;
  options.output = output ? output : "";
  options.openWeights = openSafetensorsWeights;
  options.modelPath = std::filesystem::absolute(options.model).string();
  auto compilation = std::make_unique<mpc_compilation_s>();
  compilation->result = compile(options);
  const CompileResult &result = compilation->result;
  if (failed(result.failure))
    return fail(codeOf(result.failure), messageOf(result));
  *out = compilation.release();
  return nullptr;
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
  return guarded([&] { return set(options->options, name, value); });
}

mpc_status_t mpc_compile(const char *model, const char *output,
                         const mpc_compile_options_t *options,
                         mpc_compilation_t **out_compilation) {
  if (!model || !out_compilation)
    return fail(MPC_INVALID_ARGUMENT, "an argument is NULL");
  *out_compilation = nullptr;
  return guarded(
      [&] { return compileFile(model, output, options, out_compilation); });
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
