//===- DoctorModel.cpp - mpc doctor MODEL ---------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/CompilerFiles.h"
#include "tools/mpc/base/Package.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/CompileOptions.h"

#include "passes/Driver/Examine.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>

using namespace mpc::tool;
using mpc::Examination;
using mpc::ModelSurvey;
using Json = nlohmann::ordered_json;

namespace {
struct DoctorModelCommand {
  std::string model;
  CompileArguments arguments;
};
} // namespace

static bool trains(const Examination &found) {
  return !failed(found.failure) && !found.predictsOnly;
}

/// Why an op is not accepted, and what to do about it.
static std::string advice(const ModelSurvey::Refusal &refusal) {
  if (refusal.why == "not supported")
    return "exclude it from the export, or write it with other ops";
  if (refusal.why.rfind("exists", 0) == 0)
    return refusal.why + ": export it with that opset";
  return refusal.why +
         "; if a runtime's optimizer added it, use the unoptimized model";
}

//===----------------------------------------------------------------------===//
// For machines
//===----------------------------------------------------------------------===//

static Json describe(const Examination::Tensors &tensors) {
  return {{"tensors", tensors.count},
          {"numbers", tensors.elements},
          {"bytes", tensors.elements * sizeof(float)}};
}

static Json toJson(const std::string &model, const Examination &found) {
  const ModelSurvey &survey = found.survey;
  Json json;
  json["model"] = model;
  json["producer"] = survey.producer;
  json["opset"] = survey.opset;
  json["nodes"] = survey.numNodes;
  json["failed"] = survey.numFailed;
  json["unseen"] = survey.numUnseen;
  json["unsupported"] = Json::array();
  for (const ModelSurvey::Refusal &refusal : survey.refusals)
    json["unsupported"].push_back({{"op", refusal.op},
                                   {"why", advice(refusal)},
                                   {"nodes", refusal.nodes}});
  json["errors"] = Json::array();
  for (const Examination::Fault &fault : found.faults)
    json["errors"].push_back({{"text", fault.text}, {"notes", fault.notes}});
  json["trained"] = describe(found.trained);
  json["statistics"] = describe(found.statistics);
  json["kept"] = describe(found.kept);
  json["loss"] = found.loss.empty() ? Json() : Json(found.loss);
  json["notes"] = found.notes;
  json["remarks"] = survey.remarks;
  json["trains"] = trains(found);
  return json;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

static void line(const char *name, const std::string &value) {
  printResult("%-14s %s\n", name, value.c_str());
}

static std::string text(const Examination::Tensors &tensors,
                        const char *noun = "number") {
  return formatCount(tensors.count, "tensor") + ", " +
         formatCount(tensors.elements, noun) + ", " +
         formatBytes(tensors.elements * sizeof(float));
}

/// "14: 1 unsupported, 2 with errors and 4 not checked, because ..."
static std::string countNodes(const ModelSurvey &survey) {
  int64_t refused = 0;
  for (const ModelSurvey::Refusal &refusal : survey.refusals)
    refused += refusal.nodes.size();
  std::vector<std::string> parts;
  auto add = [&](int64_t count, const char *what) {
    if (count > 0)
      parts.push_back(formatCount(count) + " " + what);
  };
  add(refused, "unsupported");
  add(survey.numFailed, "with errors");
  add(survey.numUnseen, "not checked, because they depend on these");
  std::string all = formatCount(survey.numNodes);
  return parts.empty() ? all : all + ": " + joinWords(parts);
}

static std::string text(const ModelSurvey::Refusal &refusal) {
  constexpr size_t kShown = 5;
  std::string nodes;
  for (size_t i = 0; i < std::min(kShown, refusal.nodes.size()); ++i)
    nodes += (i ? ", '" : "'") + refusal.nodes[i] + "'";
  if (refusal.nodes.size() > kShown)
    nodes += " and " + formatCount(refusal.nodes.size() - kShown) + " more";
  return refusal.op + " (" + formatCount(refusal.nodes.size(), "node") +
         "): " + nodes + "; " + advice(refusal);
}

static void print(const std::string &model, const Examination &found) {
  const ModelSurvey &survey = found.survey;
  line("model", model);
  line("made by", (survey.producer.empty() ? "unknown" : survey.producer) +
                      format(", opset %lld", (long long)survey.opset));
  line("nodes", countNodes(survey));
  if (found.trained.count > 0)
    line("trained", text(found.trained, "parameter"));
  if (found.statistics.count > 0)
    line("statistics", text(found.statistics));
  if (found.kept.count > 0)
    line("not trained", text(found.kept));
  const std::string lossNote = "loss: ";
  for (const std::string &note : found.notes)
    if (note.rfind(lossNote, 0) == 0)
      line("loss", note.substr(lossNote.size()));
  for (const ModelSurvey::Refusal &refusal : survey.refusals)
    line("unsupported", text(refusal));
  for (const Examination::Fault &fault : found.faults) {
    line("error", fault.text);
    for (const std::string &note : fault.notes)
      line("", note);
  }
  for (const std::string &note : found.notes)
    if (note.rfind(lossNote, 0) != 0)
      line("note", note);
  for (const std::string &remark : survey.remarks)
    line("note", remark);
  line("trains", trains(found) ? "yes" : "no");
}

//===----------------------------------------------------------------------===//
// Command
//===----------------------------------------------------------------------===//

static int runDoctorModel(const DoctorModelCommand &options, bool json) {
  refusePackage(options.model, "mpc doctor");
  Examination found =
      mpc::examineModel(options.arguments.toOptions(options.model));
  if (!found.survey.isRead) {
    printDiagnostics(found.diagnostics);
    return exitCodeOf(found.failure);
  }
  std::string name = std::filesystem::path(options.model).filename().string();
  if (json)
    printJson(toJson(name, found), 2);
  else
    print(name, found);
  if (failed(found.failure))
    return exitCodeOf(found.failure);
  return found.predictsOnly ? InvalidModel : Ok;
}

Action mpc::tool::addModelDoctor(CLI::App &app, Action machine) {
  auto options = std::make_shared<DoctorModelCommand>();
  CLI::App *doctor = app.get_subcommand("doctor");
  doctor->description("Report what this machine supports, or what prevents a "
                      "model from being trained");
  CLI::Option *model =
      doctor
          ->add_option("model", options->model,
                       "ONNX file to check instead of the machine")
          ->option_text("[MODEL.onnx]");
  for (const char *own : {"--device", "--measure"})
    doctor->get_option(own)->excludes(model);
  options->arguments.addModelTo(*doctor);
  return [=] {
    if (options->model.empty()) {
      std::string given = options->arguments.firstGiven();
      if (!given.empty())
        throw Failure(Usage, given + " requires a model");
      return machine();
    }
    return runDoctorModel(*options, doctor->count("--json") > 0);
  };
}
