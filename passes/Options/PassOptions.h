//===- PassOptions.h - Groups of options in passes and stages ---*- C++ -*-===//
//
// Lets a pass or a stage take groups of Options.def, with the names of the
// command line: --mpc-add-optimizer="ema=0.5 optimizer=sgd".
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_OPTIONS_PASSOPTIONS_H
#define MPC_PASSES_OPTIONS_PASSOPTIONS_H

#include "passes/Options/OptionText.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

#include <functional>
#include <memory>
#include <vector>

namespace mpc {

/// Passes the text of an option to its field.
class RowParser : public llvm::cl::parser<std::string> {
public:
  using parser::parser;

  /// Sets the value; returns false if its check rejects it.
  std::function<bool(const std::string &)> set;
  /// The value as `set` takes it.
  std::function<std::string()> get;

  bool parse(llvm::cl::Option &, llvm::StringRef, llvm::StringRef text,
             std::string &value) {
    bool isRight = set(text.str());
    value = get();
    return !isRight;
  }
  llvm::cl::ValueExpected getValueExpectedFlagDefault() const {
    return llvm::cl::ValueOptional; // A switch needs no value.
  }
};

/// The options of one pass or of one stage. `Option` is MLIR's option class for
/// passes or for pipelines.
template <typename Option> class RowOptions {
public:
  /// Adds an option to `parent` for each row of `group`, which must outlive
  /// this object.
  template <typename Parent, typename Group>
  void add(Parent &parent, Group &group) {
    visitOptions(group, [&](OptionId id, auto &field) {
      const OptionRow &row = optionRow(id);
      auto option =
          std::make_unique<Option>(parent, row.name, llvm::cl::desc(row.help),
                                   llvm::cl::value_desc(row.metavar));
      RowParser &parser = option->getParser();
      // A list may be given in several parts.
      parser.set = [this, &row, &field,
                    append = false](const std::string &text) mutable {
        std::string why = setWhole(row, text, field, append);
        append = true;
        if (!why.empty())
          fault = optionName(row.id) + " " + why;
        return why.empty();
      };
      parser.get = [&row, &field] { return writeWhole(row, field); };
      option->setValue(parser.get(), /*initial=*/true);
      options.push_back(std::move(option));
    });
  }

  /// A better error for a text that MLIR failed to parse with `message`.
  std::string explain(llvm::StringRef message) const {
    if (!fault.empty())
      return fault;
    auto [before, name] = message.trim().split("no such option ");
    if (name.empty())
      return message.str();
    std::vector<std::string> known;
    for (const auto &option : options)
      known.push_back(option->ArgStr.str());
    return "unknown option '" + name.str() + "'" + suggest(name.str(), known);
  }

private:
  std::vector<std::unique_ptr<Option>> options;
  std::string fault;
};

/// A pass with the options of some groups, which it reads as its own fields:
///
///   struct AddLossPass
///       : PassWithOptions<impl::AddLossPassBase<AddLossPass>, LossOptions> {
///     using PassWithOptions::PassWithOptions;
///
/// `Base` is the class that TableGen generates from Passes.td, which may
/// declare more options, for tests and the pipeline only.
template <typename Base, typename... Groups>
class PassWithOptions : public Base, public Groups... {
public:
  PassWithOptions() { addOptions(); }
  PassWithOptions(const PassWithOptions &other)
      : Base(other), Groups(other)... {
    addOptions();
  }
  explicit PassWithOptions(const CompileOptions &given) : Groups(given)... {
    addOptions();
  }
  template <typename Own>
  PassWithOptions(const CompileOptions &given, Own own)
      : Base(std::move(own)), Groups(given)... {
    addOptions();
  }
  template <typename Own,
            std::enable_if_t<!std::is_base_of_v<PassWithOptions, Own> &&
                                 !std::is_base_of_v<CompileOptions, Own>,
                             bool> = true>
  explicit PassWithOptions(Own own) : Base(std::move(own)) {
    addOptions();
  }

  mlir::LogicalResult
  initializeOptions(llvm::StringRef text,
                    llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)>
                        report) override {
    return Base::initializeOptions(text, [&](const llvm::Twine &message) {
      return report(rows.explain(message.str()));
    });
  }

  /// Text is checked when it is parsed; values set by a caller are checked
  /// here.
  mlir::LogicalResult initialize(mlir::MLIRContext *context) override {
    std::string fault;
    auto check = [&](const auto &group) {
      if (fault.empty())
        fault = checkValues(group);
    };
    (check(static_cast<const Groups &>(*this)), ...);
    if (fault.empty())
      return mlir::success();
    return mlir::emitError(mlir::UnknownLoc::get(context), fault);
  }

private:
  void addOptions() { (rows.add(*this, static_cast<Groups &>(*this)), ...); }

  RowOptions<mlir::Pass::Option<std::string, RowParser>> rows;
};

/// The options of a stage, as given to a tool.
template <typename... Groups>
class StageOptions : public mlir::PassPipelineOptions<StageOptions<Groups...>> {
public:
  StageOptions() { (rows.add(*this, static_cast<Groups &>(options)), ...); }

  /// Reads the text; returns an error message, or "".
  std::string read(llvm::StringRef text) {
    std::string message;
    llvm::raw_string_ostream os(message);
    return succeeded(this->parseFromString(text, os)) ? ""
                                                      : rows.explain(message);
  }

  CompileOptions options;

private:
  RowOptions<mlir::detail::PassOptions::Option<std::string, RowParser>> rows;
};

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_PASSOPTIONS_H
