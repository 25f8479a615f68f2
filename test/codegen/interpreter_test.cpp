//===- interpreter_test.cpp - Integers of the reference interpreter -------===//

#include "test/codegen/harness.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mpc::test;

/// Interprets a function that applies `ops`, which compute %r from %x and %y,
/// to each element.
static Elements interpretOps(const std::string &from, const std::string &to,
                             const std::string &ops, const Elements &x,
                             const Elements &y) {
  const std::string count = std::to_string(x.size());
  const std::string in = "tensor<" + count + "x" + from + ">";
  const std::string out = "tensor<" + count + "x" + to + ">";
  const std::string text =
      "#map = affine_map<(d0) -> (d0)>\n"
      "func.func @f(%a: " +
      in + ", %b: " + in + ") -> " + out +
      " {\n"
      "  %e = tensor.empty() : " +
      out +
      "\n"
      "  %g = linalg.generic {indexing_maps = [#map, #map, #map],\n"
      "      iterator_types = [\"parallel\"]}\n"
      "      ins(%a, %b : " +
      in + ", " + in + ") outs(%e : " + out +
      ") {\n"
      "  ^bb0(%x: " +
      from + ", %y: " + from + ", %z: " + to +
      "):\n"
      "    " +
      ops +
      "\n"
      "    linalg.yield %r : " +
      to +
      "\n"
      "  } -> " +
      out +
      "\n"
      "  return %g : " +
      out +
      "\n"
      "}\n";
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, tensor::TensorDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << text;
    return {};
  }
  return interpret(*module->getOps<func::FuncOp>().begin(), {x, y})[0];
}

TEST(Interpreter, ExtendsBooleansBySignednessOfTheOp) {
  const Elements x = {0, 1};
  EXPECT_EQ(interpretOps("i1", "i32", "%r = arith.extsi %x : i1 to i32", x, x),
            (Elements{0, -1}));
  EXPECT_EQ(interpretOps("i1", "i32", "%r = arith.extui %x : i1 to i32", x, x),
            (Elements{0, 1}));
  EXPECT_EQ(interpretOps("i1", "f32", "%r = arith.sitofp %x : i1 to f32", x, x),
            (Elements{0, -1}));
  EXPECT_EQ(interpretOps("i1", "f32", "%r = arith.uitofp %x : i1 to f32", x, x),
            (Elements{0, 1}));
}

TEST(Interpreter, DividesTheLeastInteger) {
  const double least = -9223372036854775808.0;
  const Elements x = {least, 7, -7}, y = {-1, -2, 2};
  EXPECT_EQ(interpretOps("i64", "i64", "%r = arith.divsi %x, %y : i64", x, y),
            (Elements{least, -3, -3}));
  EXPECT_EQ(interpretOps("i64", "i64", "%r = arith.remsi %x, %y : i64", x, y),
            (Elements{0, 1, -1}));
}
