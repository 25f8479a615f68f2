//===- ReduceModel.cpp - Shrink an ONNX model that shows a bug ------------===//
//
// The search is greedy: every edit that preserves the bug is kept. Runs of
// nodes are removed before single nodes, so that a deep model needs few test
// runs.
//
//===----------------------------------------------------------------------===//

#include "tools/mpc-reduce/ReduceModel.h"

#include "compiler/Export/WriteModel.h"
#include "compiler/Import/File/ModelFile.h"
#include "tools/mpc-reduce/GraphEdits.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <optional>

using namespace mpc;
using llvm::StringRef;

/// Larger models are written with a separate data file.
static constexpr uint64_t kMaxInlineBytes = uint64_t(1) << 30;

namespace {

class Reducer {
public:
  Reducer(onnx::ModelProto model, std::string test, std::string candidate)
      : model(std::move(model)), test(std::move(test)),
        candidate(std::move(candidate)) {}

  llvm::Error run() {
    llvm::Expected<bool> shows = showsBug(model);
    if (!shows)
      return shows.takeError();
    if (!*shows)
      return llvm::createStringError(
          "the test exits with 0 for the model itself, which must show the "
          "bug: exit with 1");
    report();
    attempt([](onnx::ModelProto &smaller) {
      dropAnnotations(smaller);
      return true;
    });
    while (!failure && shrinkOnce()) {
    }
    report(/*isLast=*/true);
    return failure ? std::move(*failure) : llvm::Error::success();
  }

  onnx::ModelProto &result() { return model; }

private:
  using Edit = std::function<bool(onnx::ModelProto &)>;

  size_t numNodes() const { return model.graph().node_size(); }

  /// Tries all edits once. Returns false if none preserved the bug.
  bool shrinkOnce() {
    bool changed = false;
    changed |=
        removeRuns([&] { return size_t(model.graph().output_size()); },
                   [](onnx::ModelProto &smaller, size_t begin, size_t end) {
                     dropOutputs(smaller, begin, end);
                     return smaller.graph().output_size() > 0;
                   });
    changed |= endEarly();
    for (size_t input : {0, 1, 2})
      changed |= removeRuns(
          [&] { return numNodes(); },
          [input](onnx::ModelProto &smaller, size_t begin, size_t end) {
            return bypassNodes(smaller, begin, end, input);
          });
    for (size_t node = numNodes(); node-- > 0;)
      if (node < numNodes())
        changed |= attempt([node](onnx::ModelProto &smaller) {
          return beginAt(smaller, node);
        });
    return changed;
  }

  /// Tries to remove halves, then quarters, and so on, starting from the end.
  bool removeRuns(
      const std::function<size_t()> &count,
      const std::function<bool(onnx::ModelProto &, size_t, size_t)> &remove) {
    bool changed = false;
    for (size_t length = (count() + 1) / 2; length > 0;
         length = length == 1 ? 0 : (length + 1) / 2)
      for (size_t end = count(); end > 0;) {
        size_t begin = end > length ? end - length : 0;
        changed |= attempt([&](onnx::ModelProto &smaller) {
          return remove(smaller, begin, end);
        });
        end = std::min(begin, count());
      }
    return changed;
  }

  /// Ends the graph at the first node at which the bug shows.
  bool endEarly() {
    for (size_t node = 0; node + 1 < numNodes() && !failure; ++node)
      if (attempt([node](onnx::ModelProto &smaller) {
            endAt(smaller, node);
            return true;
          }))
        return true;
    return false;
  }

  /// Makes an edit and keeps it if the smaller model shows the bug.
  bool attempt(const Edit &edit) {
    if (failure)
      return false;
    onnx::ModelProto smaller = model;
    if (!edit(smaller))
      return false;
    dropUnused(smaller);
    if (smaller.ByteSizeLong() >= model.ByteSizeLong())
      return false;
    llvm::Expected<bool> shows = showsBug(smaller);
    if (!shows) {
      failure.emplace(shows.takeError());
      return false;
    }
    if (*shows)
      model = std::move(smaller);
    report();
    return *shows;
  }

  llvm::Expected<bool> showsBug(const onnx::ModelProto &tried) {
    ++numRuns;
    onnx::ModelProto written = tried;
    if (llvm::Error error = writeModel(written, candidate, kMaxInlineBytes))
      return error;
    std::string message;
    // Discard the output of the test: only mpc-reduce itself prints.
    const std::optional<StringRef> streams[] = {StringRef(), StringRef(),
                                                StringRef()};
    int code = llvm::sys::ExecuteAndWait(test, {test, candidate}, std::nullopt,
                                         streams, 0, 0, &message);
    if (code == 0 || code == 1)
      return code == 1;
    return llvm::createStringError(
        "the test '" + test + "' must exit with 1 or 0, but " +
        (code < 0 ? message : "exited with " + std::to_string(code)));
  }

  /// Prints one line: updated in place on a terminal, otherwise only the last.
  void report(bool isLast = false) {
    if (!isLast && !llvm::errs().is_displayed())
      return;
    llvm::errs() << "\rmpc-reduce: " << numNodes() << " nodes, "
                 << model.ByteSizeLong() << " bytes after " << numRuns
                 << " runs of the test" << (isLast ? "\n" : "   ");
  }

  onnx::ModelProto model;
  std::string test, candidate;
  std::optional<llvm::Error> failure;
  size_t numRuns = 0;
};

} // namespace

llvm::Error mpc::reduceModel(StringRef path, StringRef test,
                             StringRef outPath) {
  llvm::Expected<std::shared_ptr<ModelFile>> file = readModelFile(path);
  if (!file)
    return file.takeError();
  if (llvm::Error error = inlineExternalData(*file))
    return error;
  llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(test);
  if (!program)
    return llvm::createStringError(
        "the test '" + test +
        "' is not a program: " + program.getError().message());

  llvm::SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("mpc-reduce", folder))
    return llvm::createStringError("cannot make a temporary folder: " +
                                   error.message());
  llvm::SmallString<128> candidate = folder;
  llvm::sys::path::append(candidate, "model.onnx");

  Reducer reducer((*file)->proto, *program, candidate.str().str());
  llvm::Error error = reducer.run();
  llvm::sys::fs::remove_directories(folder);
  if (error)
    return error;
  return writeModel(reducer.result(), outPath, kMaxInlineBytes);
}
