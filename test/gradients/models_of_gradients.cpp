//===- models_of_gradients.cpp - Gradients of gradients -------------------===//
//
// Models that contain the op Gradient and are trained through it.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/models.h"

namespace mpc::test {

#define MPC_GRADIENT(XS, Y)                                                    \
  "ai.onnx.preview.training.Gradient <xs = [" XS "], y = \"" Y "\"> "

/// w f'(x w) + x: has both derivatives of f, and its gradient for x is never 0.
#define MPC_FUNCTION(NAME, X, FUNCTION)                                        \
  {                                                                            \
    "Gradient_" NAME, X " w[3,5]:0.5..1",                                      \
        "a = Mul (x, w) h = " FUNCTION                                         \
        " (a) g = " MPC_GRADIENT("\"x\"", "h") "(x) y = Add (g, x)",           \
        "3,5"                                                                  \
  }

const std::vector<Model> &modelsOfGradients() {
  static const std::vector<Model> table = {
      MPC_FUNCTION("Exp", "x[3,5]", "Exp"),
      // x + w, because for x w the gradient would be 1 / x.
      {"Gradient_Log", "x[3,5]:0.5..2 w[3,5]:0.5..1",
       "a = Add (x, w) h = Log (a) y = " MPC_GRADIENT("\"x\"", "h") "(x)",
       "3,5"},
      MPC_FUNCTION("Sin", "x[3,5]:-3..3", "Sin"),
      MPC_FUNCTION("Cos", "x[3,5]:-3..3", "Cos"),
      MPC_FUNCTION("Tan", "x[3,5]", "Tan"),
      MPC_FUNCTION("Asin", "x[3,5]:-0.7..0.7", "Asin"),
      MPC_FUNCTION("Acos", "x[3,5]:-0.7..0.7", "Acos"),
      MPC_FUNCTION("Atan", "x[3,5]:-3..3", "Atan"),
      MPC_FUNCTION("Sinh", "x[3,5]:-2..2", "Sinh"),
      MPC_FUNCTION("Cosh", "x[3,5]:-2..2", "Cosh"),
      MPC_FUNCTION("Asinh", "x[3,5]:-2..2", "Asinh"),
      MPC_FUNCTION("Acosh", "x[3,5]:3..5", "Acosh"),
      MPC_FUNCTION("Atanh", "x[3,5]:-0.6..0.6", "Atanh"),
      MPC_FUNCTION("Erf", "x[3,5]:-2..2", "Erf"),
      MPC_FUNCTION("Abs", "x[3,5]:-2..2~0", "Abs"),
      MPC_FUNCTION("Tanh", "x[3,5]:-2..2", "Tanh"),
      MPC_FUNCTION("Sigmoid", "x[3,5]:-4..4", "Sigmoid"),
      MPC_FUNCTION("Softsign", "x[3,5]:-2..2~0", "Softsign"),
      MPC_FUNCTION("Mish", "x[3,5]:-3..3", "Mish"),
      MPC_FUNCTION("Softplus", "x[3,5]:-3..3", "Softplus"),
      MPC_FUNCTION("Elu", "x[3,5]:-2..2~0", "Elu <alpha = 0.5>"),
      MPC_FUNCTION("Selu", "x[3,5]:-2..2~0", "Selu"),
      MPC_FUNCTION("Celu", "x[3,5]:-2..2~0", "Celu <alpha = 1.5>"),
      MPC_FUNCTION("LeakyRelu", "x[3,5]:-2..2~0", "LeakyRelu"),
      MPC_FUNCTION("HardSwish", "x[3,5]:-2..2", "HardSwish"),
      MPC_FUNCTION("Gelu", "x[3,5]:-3..3", "Gelu"),
      MPC_FUNCTION("GeluTanh", "x[3,5]:-3..3", "Gelu <approximate = \"tanh\">"),
      MPC_FUNCTION("Relu", "x[3,5]:-2..2~0", "Relu"),
      MPC_FUNCTION("Sqrt", "x[3,5]:0.5..2", "Sqrt"),
      MPC_FUNCTION("Reciprocal", "x[3,5]:0.5..2", "Reciprocal"),
      {"Gradient_cross_entropy", "x[3,5] w[3,5]:0.5..1",
       "a = Mul (x, w) l = Constant <value_ints = [1, 0, 4]> () h = "
       "SoftmaxCrossEntropyLoss (a, l) y = " MPC_GRADIENT("\"x\"", "h") "(x)",
       "3,5"},
      {"Gradient_cross_entropy_each", "x[3,5] w[3,5]:0.5..1",
       "a = Mul (x, w) l = Constant <value_ints = [1, 0, 4]> () e = "
       "SoftmaxCrossEntropyLoss <ignore_index = 0, reduction = \"none\"> (a, "
       "l) h = Mul (e, e) y = " MPC_GRADIENT("\"x\"", "h") "(x)",
       "3,5"},
      {"Gradient_likelihood", "x[3,5] w[3,5]:0.5..1",
       "a = Mul (x, w) b = Mul (a, a) l = Constant <value_ints = [1, 0, 4]> () "
       "e = NegativeLogLikelihoodLoss (b, l) h = Mul (e, e) y = " MPC_GRADIENT(
           "\"x\"", "h") "(x)",
       "3,5"},
      {"Gradient_softmax", "x[3,5] w[3,5]",
       "s = Softmax <axis = 0> (x) h = Mul (s, w) y = " MPC_GRADIENT("\"x\"",
                                                                     "h") "(x)",
       "3,5"},
      {"Gradient_logSoftmax", "x[3,5] w[3,5]",
       "s = LogSoftmax (x) h = Mul (s, w) y = " MPC_GRADIENT("\"x\"",
                                                             "h") "(x)",
       "3,5"},
      {"Gradient_matmul", "x[3,4] v[4,5] w[5,2]",
       "a = MatMul (x, v) b = Tanh (a) h = MatMul (b, w) y = " MPC_GRADIENT(
           "\"v\"", "h") "(v)",
       "4,5"},
      // The gradient penalty of a critic.
      {"Gradient_convInput", "x[2,2,6,5] v[3,2,3,2] w[4,3,2,2]",
       "a = Conv <pads = [1, 0, 0, 1], strides = [2, 1]> (x, v) b = Tanh (a) h "
       "= Conv (b, w) y = " MPC_GRADIENT("\"x\"", "h") "(x)",
       "2,2,6,5"},
      {"Gradient_convWeight", "x[2,2,6,5] v[3,2,3,2] w[4,3,2,2]",
       "a = Conv <pads = [1, 0, 0, 1]> (x, v) b = Tanh (a) h = Conv (b, w) y "
       "= " MPC_GRADIENT("\"v\"", "h") "(v)",
       "3,2,3,2"},
      {"Gradient_averagePool", "x[2,2,6,5]",
       "a = Mul (x, x) b = AveragePool <kernel_shape = [2, 2]> (a) h = Mul (b, "
       "b) y = " MPC_GRADIENT("\"x\"", "h") "(x)",
       "2,2,6,5"},
      {"Gradient_gather", "x[4,3]",
       "i = Constant <value = int64[4] {0, 3, 1, 3}> () r = Gather (x, i) h = "
       "Sin (r) y = " MPC_GRADIENT("\"x\"", "h") "(x)",
       "4,3"},
      // Third order: a gradient of a gradient is differentiated.
      {"Gradient_third", "x[3,4] w[3,4]",
       "a = Mul (x, w) s = Sigmoid (a) g = " MPC_GRADIENT(
           "\"x\"", "s") "(x) y = " MPC_GRADIENT("\"x\"", "g") "(x)",
       "3,4"},
      {"Gradient_thirdGelu", "x[3,4] w[3,4]",
       "a = Mul (x, w) s = Gelu (a) g = " MPC_GRADIENT(
           "\"x\"", "s") "(x) y = " MPC_GRADIENT("\"x\"", "g") "(x)",
       "3,4"},
      // Gradients for intermediate values, for several values, and at other
      // values.
      {"Gradient_inner", "x[3,4] w[3,4]",
       "a = Mul (x, w) h = Sin (a) y = " MPC_GRADIENT("\"a\"", "h") "(a)",
       "3,4"},
      {"Gradient_several", "x[3,4] w[4]",
       "a = Mul (x, w) h = Sin (a) p, q = " MPC_GRADIENT(
           "\"x\", \"w\"", "h") "(x, w) y = Mul (p, q)",
       "3,4"},
      {"Gradient_elsewhere", "x[3,4] w[3,4] z[3,4]",
       "a = Mul (x, w) h = Sin (a) p = ai.onnx.preview.training.Gradient <xs = "
       "[\"x\"], zs = [\"w\"], y = \"h\"> (z, x) y = Add (p, h)",
       "3,4"},
      {"Gradient_none", "x[3,4] w[3,4]",
       "h = Sin (x) g = " MPC_GRADIENT("\"x\", \"w\"",
                                       "h") "(x, w) y = Mul (g, w)",
       "3,4"},
  };
  return table;
}

} // namespace mpc::test
