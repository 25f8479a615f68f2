//===- special_points_test.cpp - Gradients at kinks, ties and zeros -------===//
//
// Tests the rows of goldens/special_points.json: PyTorch's gradients at points
// where functions have no gradient or several (see make_special_points.py).
// Each row is tested twice: with the op Gradient of ONNX in f32, where
// infinities and NaN can be observed, and with a training step in f64.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/harness.h"
#include "test/gradients/special/unsampled.h"

#include "compiler/Import/Graph/OpTable.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace mpc::test {
namespace {

using Json = nlohmann::json;

const Json &rows() {
  static const Json all =
      Json::parse(std::ifstream(MPC_SPECIAL_POINTS "/special_points.json"));
  return all;
}

/// Parses numbers; infinities and NaN, which JSON does not have, are strings.
Values valuesOf(const Json &json) {
  Values values;
  for (const Json &number : json)
    values.push_back(number.is_string() ? std::stod(number.get<std::string>())
                                        : number.get<double>());
  return values;
}

bool allFinite(const Values &values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

bool hasFiniteInputs(const Json &row) {
  bool result = true;
  for (const Json &input : row["inputs"])
    result &= allFinite(valuesOf(input["values"]));
  return result;
}

bool isFinite(const Json &row) {
  bool result = allFinite(valuesOf(row["z"]["values"]));
  for (const Json &gradient : row["gradients"])
    result &= allFinite(valuesOf(gradient));
  return result;
}

/// Names of rows that can be tested by training (weights must be finite), or
/// with the op Gradient (not for ops with a different training form).
std::vector<std::string> names(bool ofTrained) {
  std::vector<std::string> result;
  for (const auto &[name, row] : rows().items())
    if (ofTrained ? hasFiniteInputs(row) : !row.contains("trained_only"))
      result.push_back(name);
  return result;
}

std::string declare(const std::string &name, const Shape &shape) {
  std::string text = "float";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "[") + std::to_string(shape[i]);
  return text + (shape.empty() ? " " : "] ") + name;
}

/// An initializer. Infinities, which the text syntax does not have, become
/// zeros.
std::string initializer(const std::string &name, const Json &tensor) {
  std::ostringstream text;
  text << declare(name, tensor["shape"]) << " = {";
  const char *separator = "";
  for (double value : valuesOf(tensor["values"])) {
    text << separator << std::showpoint << (std::isfinite(value) ? value : 0);
    separator = ", ";
  }
  return text.str() + "}";
}

/// A model that computes sum(z * weights) from parameters; or from inputs, with
/// their gradients as outputs.
std::string textOf(const Json &row, bool trains) {
  std::ostringstream text;
  text << "<ir_version: 10, opset_import: [\"\" : " << row["opset"]
       << ", \"com.microsoft\" : 1, \"ai.onnx.preview.training\" : 1]>\nmodel ("
       << declare("weights", row["z"]["shape"]);
  std::string outputs, xs, points;
  for (const auto &[name, input] : row["inputs"].items()) {
    std::string separator = xs.empty() ? "" : ", ";
    text << ", "
         << (trains ? initializer(name, input) : declare(name, input["shape"]));
    outputs += separator + declare(name + "_gradient", input["shape"]);
    xs += separator + "\"" + name + "\"";
    points += separator + name;
  }
  if (row.contains("constants"))
    for (const auto &[name, tensor] : row["constants"].items())
      text << ", " << initializer(name, tensor);
  text << ") => (" << (trains ? "float loss" : outputs) << ")\n{\n";
  for (const Json &line : row["nodes"])
    text << line.get<std::string>() << "\n";
  text << "weighted = Mul (z, weights)\n";
  if (trains) {
    text << "loss = ReduceSum <keepdims = 0> (weighted)\n}\n";
    return text.str();
  }
  const char *separator = "";
  for (const auto &[name, input] : row["inputs"].items()) {
    text << separator << name << "_gradient";
    separator = ", ";
  }
  text << " = ai.onnx.preview.training.Gradient <xs = [" << xs
       << "], y = \"weighted\"> (" << points << ")\n}\n";
  return text.str();
}

ProgramPtr compileRow(const Json &row, bool trains) {
  Folder folder;
  CompileOptions options;
  options.model = writeText(folder, "model.onnxtxt", textOf(row, trains));
  options.precision = trains ? "fp64" : "fp32";
  options.optimizer = "sgd";
  options.lr = 1;
  options.weightDecay = 0;
  if (trains) {
    options.loss = "output:loss";
    for (const auto &[name, input] : row["inputs"].items())
      options.train.push_back("^" + name + "$");
  }
  return compile(options, folder);
}

void compare(const Values &found, const Json &row, const std::string &name,
             double tolerance) {
  Values wanted = valuesOf(row["gradients"][name]);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    double want = tolerance > 1e-6 ? float(wanted[i]) : wanted[i];
    bool isEqual =
        found[i] == want || (std::isnan(found[i]) && std::isnan(want)) ||
        // An infinite value would make any tolerance infinite.
        (std::isfinite(want) && std::fabs(found[i] - want) <=
                                    tolerance * std::max(1.0, std::fabs(want)));
    EXPECT_TRUE(isEqual) << "gradient of " << name << "[" << i << "] is "
                         << found[i] << ", not " << want << "\n"
                         << textOf(row, false) << row["inputs"];
  }
}

class SpecialPoints : public testing::TestWithParam<std::string> {};
class TrainedSpecialPoints : public SpecialPoints {};

// In f32 there are errors of a few roundings.
TEST_P(SpecialPoints, HaveGradientsOfPyTorch) {
  const Json &row = rows()[GetParam()];
  ProgramPtr program = compileRow(row, /*trains=*/false);
  ASSERT_TRUE(program);
  std::vector<Values> inputs = {valuesOf(row["z"]["weights"])};
  for (const Json &input : row["inputs"])
    inputs.push_back(valuesOf(input["values"]));
  auto outputs = Session(program).run("predict", inputs);
  for (const auto &[name, input] : row["inputs"].items())
    compare(outputs[name + "_gradient"], row, name, 5e-6);
}

// The squares in the formulas of these gradients overflow f32, but the
// gradients do not.
TEST(LargePoints, HaveSlopes) {
  for (const char *op : {"Asinh", "Acosh"}) {
    Json row = rows()["Acosh"];
    row["nodes"] = Json::array({std::string("z = ") + op + " (x)"});
    ProgramPtr program = compileRow(row, /*trains=*/false);
    ASSERT_TRUE(program);
    Values weights = valuesOf(row["z"]["weights"]),
           x = valuesOf(row["inputs"]["x"]["values"]);
    Values found = Session(program).run("predict", {weights, x})["x_gradient"];
    ASSERT_GE(x.back(), 1e30);
    EXPECT_NEAR(found.back() * x.back() / weights.back(), 1, 1e-6) << op;
  }
}

// A step whose loss or gradients are not finite changes nothing.
TEST_P(TrainedSpecialPoints, HaveGradientsOfPyTorch) {
  const Json &row = rows()[GetParam()];
  ProgramPtr program = compileRow(row, /*trains=*/true);
  ASSERT_TRUE(program);
  Session session(program);
  std::map<std::string, Values> before;
  for (const auto &[name, input] : row["inputs"].items()) {
    before[name] = valuesOf(input["values"]);
    session.write(name, before[name]);
  }
  Session::Outcome outcome = session.tryStep({valuesOf(row["z"]["weights"])});
  if (!isFinite(row)) {
    EXPECT_TRUE(outcome.code != MPC_OK || outcome.info.skipped)
        << textOf(row, true);
    return;
  }
  ASSERT_EQ(outcome.code, MPC_OK) << outcome.message;
  ASSERT_EQ(outcome.info.skipped, 0) << textOf(row, true);
  for (auto &[name, values] : before) {
    Values found = session.read(name);
    for (size_t i = 0; i < found.size(); ++i)
      found[i] = values[i] - found[i];
    // The gradient is a difference of weights, with the rounding error of a
    // weight.
    compare(found, row, name, 1e-7 + 1e-15 * largest(values));
  }
}

std::string nameOf(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, SpecialPoints,
                         testing::ValuesIn(names(/*ofTrained=*/false)), nameOf);
INSTANTIATE_TEST_SUITE_P(All, TrainedSpecialPoints,
                         testing::ValuesIn(names(/*ofTrained=*/true)), nameOf);

// For gradients that differ from PyTorch's on purpose, the list of ops says
// why.
TEST(SpecialPointsTable, HasItsExceptionsInTheListOfOps) {
  std::ifstream file(MPC_OPS);
  std::string list(std::istreambuf_iterator<char>(file), {});
  for (const auto &[name, row] : rows().items()) {
    if (!row.contains("reason"))
      continue;
    EXPECT_NE(list.find("| " + row["op"].get<std::string>() + " | " +
                        row["reason"].get<std::string>() + " |\n"),
              list.npos)
        << name << ": " << row["reason"];
  }
}

// Every op must have a row or a reason to have none.
TEST(SpecialPointsTable, HasAllOps) {
  std::set<std::string> imported, known;
  forEachOp([&](llvm::StringRef, const OpRow &row) {
    imported.insert(row.op.str());
  });
  for (const Json &row : rows())
    known.insert(row["op"].get<std::string>());
  for (const UnsampledOp &op : opsWithoutSpecialPoints())
    EXPECT_TRUE(known.insert(op.op).second)
        << op.op << " has rows and a reason to have none: " << op.reason;
  for (const std::string &op : imported)
    EXPECT_TRUE(known.count(op)) << op << " has no row";
  for (const std::string &op : known)
    EXPECT_TRUE(imported.count(op)) << op << " is not imported";
}

} // namespace
} // namespace mpc::test
