//===- models.cpp - One small model per op and variant --------------------===//
//
// All differentiable operands of an op are parameters here. Sizes are odd and
// differ per dimension, so that any confusion of dimensions is detected.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/models.h"

#include <sstream>

namespace mpc::test {

static const std::vector<Model> &table() {
  static const std::vector<Model> rows = {
      // Contractions.
      {"Gemm_plain", "a[3,4] b[4,5] c[5]", "y = Gemm (a, b, c)", "3,5"},
      {"Gemm_transposed", "a[4,3] b[5,4] c[3,1]",
       "y = Gemm <transA = 1, transB = 1, alpha = 0.5, beta = 2.0> (a, b, c)",
       "3,5"},
      {"Gemm_transposedLhs", "a[4,3] b[4,5] c[]",
       "y = Gemm <transA = 1> (a, b, c)", "3,5"},
      {"Gemm_noBias", "a[3,4] b[5,4]",
       "y = Gemm <transB = 1, alpha = -1.5> (a, b)", "3,5"},
      {"MatMul_matrices", "a[3,4] b[4,5]", "y = MatMul (a, b)", "3,5"},
      {"MatMul_sharedRhs", "a[2,3,4] b[4,5]", "y = MatMul (a, b)", "2,3,5"},
      {"MatMul_sharedLhs", "a[3,4] b[2,4,5]", "y = MatMul (a, b)", "2,3,5"},
      {"MatMul_batched", "a[2,3,4] b[2,4,5]", "y = MatMul (a, b)", "2,3,5"},
      {"MatMul_broadcast", "a[2,1,3,4] b[3,4,5]", "y = MatMul (a, b)",
       "2,3,3,5"},
      {"MatMul_vectorLhs", "a[4] b[2,4,3]", "y = MatMul (a, b)", "2,3"},
      {"MatMul_vectorRhs", "a[2,3,4] b[4]", "y = MatMul (a, b)", "2,3"},
      {"MatMul_dot", "a[7] b[7]", "y = MatMul (a, b)", ""},
      {"Conv_plain", "x[2,3,6,5] w[4,3,3,2] b[4]", "y = Conv (x, w, b)",
       "2,4,4,4"},
      {"Conv_stridesAndPads", "x[2,3,7,6] w[4,3,3,3] b[4]",
       "y = Conv <strides = [2, 1], pads = [1, 0, 0, 2]> (x, w, b)", "2,4,3,6"},
      {"Conv_groups", "x[2,4,5,5] w[6,2,3,3] b[6]",
       "y = Conv <group = 2, pads = [1, 1, 1, 1]> (x, w, b)", "2,6,5,5"},
      {"Conv_depthwise", "x[2,3,5,6] w[3,1,3,3]",
       "y = Conv <group = 3, strides = [2, 2], pads = [1, 1, 1, 1]> (x, w)",
       "2,3,3,3"},
      {"Conv_dilation", "x[1,2,8,7] w[3,2,3,2] b[3]",
       "y = Conv <dilations = [2, 3], pads = [1, 1, 1, 1]> (x, w, b)",
       "1,3,6,6"},
      {"Conv_pointwise", "x[2,5,3,3] w[4,5,1,1] b[4]", "y = Conv (x, w, b)",
       "2,4,3,3"},
      {"Conv_same", "x[1,2,7,6] w[3,2,2,3]",
       "y = Conv <auto_pad = \"SAME_LOWER\", strides = [2, 2]> (x, w)",
       "1,3,4,3"},
      {"Conv_oneDimension", "x[2,3,9] w[4,3,3] b[4]",
       "y = Conv <strides = [2], pads = [1, 2], dilations = [2]> (x, w, b)",
       "2,4,4"},

      // Elementwise.
      {"Add_sameShape", "a[2,3,4] b[2,3,4]", "y = Add (a, b)", "2,3,4"},
      {"Add_broadcastInner", "a[2,3,4] b[3,1]", "y = Add (a, b)", "2,3,4"},
      {"Add_broadcastBoth", "a[4,1] b[1,3]", "y = Add (a, b)", "4,3"},
      {"Add_scalar", "a[] b[2,5]", "y = Add (a, b)", "2,5"},
      {"Add_twice", "a[3,4]", "y = Add (a, a)", "3,4"},
      {"Sub_sameShape", "a[17] b[17]", "y = Sub (a, b)", "17"},
      {"Sub_broadcast", "a[3] b[2,4,3]", "y = Sub (a, b)", "2,4,3"},
      {"Mul_sameShape", "a[5,3] b[5,3]", "y = Mul (a, b)", "5,3"},
      {"Mul_broadcast", "a[2,1,4] b[3,1]", "y = Mul (a, b)", "2,3,4"},
      {"Mul_square", "a[3,5]", "y = Mul (a, a)", "3,5"},
      {"Mul_scalar", "a[2,3] b[1]", "y = Mul (a, b)", "2,3"},
      {"Div_sameShape", "a[4,5] b[4,5]:0.5..2", "y = Div (a, b)", "4,5"},
      {"Div_broadcastLhs", "a[4,1] b[2,4,3]:0.5..2", "y = Div (a, b)", "2,4,3"},
      {"Div_broadcastRhs", "a[2,4,3] b[1,3]:-2..-0.5", "y = Div (a, b)",
       "2,4,3"},
      {"Neg_plain", "a[5,3]", "y = Neg (a)", "5,3"},
      {"Neg_scalar", "a[]", "y = Neg (a)", ""},
      {"Relu_plain", "a[7,5]", "y = Relu (a)", "7,5"},
      {"Relu_chain", "a[40]", "b = Relu (a)\n c = Mul (b, a)\n y = Relu (c)",
       "40"},
      {"Gelu_exact", "a[6,5]:-4..4", "y = Gelu (a)", "6,5"},
      {"Gelu_tanh", "a[6,5]:-4..4", "y = Gelu <approximate = \"tanh\"> (a)",
       "6,5"},
      {"Tanh_plain", "a[6,5]:-3..3", "y = Tanh (a)", "6,5"},
      {"Tanh_scalar", "a[]", "y = Tanh (a)", ""},
      {"Sigmoid_plain", "a[6,5]:-5..5", "y = Sigmoid (a)", "6,5"},
      {"Sigmoid_twice", "a[3,4,2]", "b = Sigmoid (a)\n y = Sigmoid (b)",
       "3,4,2"},
      {"Softsign_plain", "a[6,5]:0.25..4", "y = Softsign (a)", "6,5"},
      {"Softsign_negative", "a[9]:-4..-0.25", "y = Softsign (a)", "9"},
      {"Exp_plain", "a[6,5]:-3..3", "y = Exp (a)", "6,5"},
      {"Log_plain", "a[6,5]:0.25..4", "y = Log (a)", "6,5"},
      {"Sin_plain", "a[6,5]:-7..7", "y = Sin (a)", "6,5"},
      {"Cos_plain", "a[6,5]:-7..7", "y = Cos (a)", "6,5"},
      {"Tan_plain", "a[6,5]:-1.2..1.2", "y = Tan (a)", "6,5"},
      {"Asin_plain", "a[6,5]:-0.9..0.9", "y = Asin (a)", "6,5"},
      {"Acos_plain", "a[6,5]:-0.9..0.9", "y = Acos (a)", "6,5"},
      {"Atan_plain", "a[6,5]:-4..4", "y = Atan (a)", "6,5"},
      {"Sinh_plain", "a[6,5]:-3..3", "y = Sinh (a)", "6,5"},
      {"Cosh_plain", "a[6,5]:-3..3", "y = Cosh (a)", "6,5"},
      {"Asinh_plain", "a[6,5]:-4..4", "y = Asinh (a)", "6,5"},
      {"Acosh_plain", "a[6,5]:1.25..4", "y = Acosh (a)", "6,5"},
      {"Atanh_plain", "a[6,5]:-0.9..0.9", "y = Atanh (a)", "6,5"},
      {"Erf_plain", "a[6,5]:-3..3", "y = Erf (a)", "6,5"},
      {"Abs_plain", "a[6,5]:0.25..4", "y = Abs (a)", "6,5"},
      {"Abs_negative", "a[9]:-4..-0.25", "y = Abs (a)", "9"},
      {"Sign_plain", "a[6,5]:0.25..4", "b = Sign (a)\n y = Mul (a, b)", "6,5"},
      {"Floor_plain", "a[9]:2.1..2.9", "b = Floor (a)\n y = Mul (a, b)", "9"},
      {"Ceil_plain", "a[9]:2.1..2.9", "b = Ceil (a)\n y = Mul (a, b)", "9"},
      {"Round_plain", "a[9]:2.6..3.4", "b = Round (a)\n y = Mul (a, b)", "9"},
      {"Reciprocal_plain", "a[6,5]:0.5..2", "y = Reciprocal (a)", "6,5"},
      {"Clip_inside", "a[7]:-0.9..0.9",
       "l = Constant <value_float = -1.0> ()\n"
       " h = Constant <value_float = 1.0> ()\n y = Clip (a, l, h)",
       "7"},
      {"Clip_above", "a[7]:0.6..2",
       "h = Constant <value_float = 0.5> ()\n b = Clip (a, , h)\n"
       " y = Add (a, b)",
       "7"},
      {"Clip_bounds", "a[7]:-1..1 l[]:-0.1..0 h[]:1.5..2", "y = Clip (a, l, h)",
       "7"},
      {"Softplus_plain", "a[6,5]:-6..6", "y = Softplus (a)", "6,5"},
      {"HardSigmoid_inside", "a[7]:-2..2", "y = HardSigmoid (a)", "7"},
      {"HardSwish_inside", "a[7]:-2.9..2.9", "y = HardSwish (a)", "7"},
      {"HardSwish_above", "a[7]:3.1..5", "y = HardSwish (a)", "7"},
      {"Elu_plain", "a[7]:-3..-0.25", "y = Elu <alpha = 1.5> (a)", "7"},
      {"Elu_above", "a[7]:0.25..3", "y = Elu <alpha = 1.5> (a)", "7"},
      {"Selu_plain", "a[7]:-3..-0.25", "y = Selu (a)", "7"},
      {"Celu_plain", "a[7]:-3..-0.25", "y = Celu <alpha = 2.0> (a)", "7"},
      {"LeakyRelu_below", "a[7]:-3..-0.25", "y = LeakyRelu <alpha = 0.3> (a)",
       "7"},
      {"ThresholdedRelu_above", "a[7]:1.25..3",
       "y = ThresholdedRelu <alpha = 1.0> (a)", "7"},
      {"Shrink_above", "a[7]:0.75..3", "y = Shrink <bias = 0.2> (a)", "7"},
      {"PRelu_below", "a[2,3,4]:-3..-0.25 s[3,1]", "y = PRelu (a, s)", "2,3,4"},
      {"PRelu_above", "a[2,3]:0.25..3 s[3]",
       "p = PRelu (a, s)\n y = Add (p, s)", "2,3"},
      {"Max_broadcast", "a[4,5]:0..1 b[5]:1.5..2 c[4,1]:-2..-1",
       "m = Max (a, b, c)\n n = Add (m, a)\n y = Add (n, c)", "4,5"},
      {"Min_broadcast", "a[4,5]:0..1 b[5]:1.5..2",
       "m = Min (a, b)\n y = Add (m, b)", "4,5"},
      {"Max_one", "a[3]", "y = Max (a)", "3"},
      {"Greater_where", "a[7]:0.5..1 b[7]:-1..-0.5",
       "c = Greater (a, b)\n d = Less (a, b)\n e = Xor (c, d)\n"
       " f = Mul (a, a)\n g = Where (e, f, b)\n y = Add (g, b)",
       "7"},
      {"IsNaN_guard", "a[7]",
       "n = IsNaN (a)\n i = IsInf (a)\n o = Or (n, i)\n k = Not (o)\n"
       " z = Constant <value_float = 0.0> ()\n b = Mul (a, a)\n"
       " y = Where (k, b, z)",
       "7"},
      {"Sum_three", "a[4,5] b[5] c[4,1]", "y = Sum (a, b, c)", "4,5"},
      {"Mean_three", "a[4,5] b[5] c[4,1]", "y = Mean (a, b, c)", "4,5"},
      {"ReduceMax_rows", "a[3,4,5]",
       "i = Constant <value_ints = [2]> ()\n y = ReduceMax <keepdims = 0> (a, "
       "i)",
       "3,4"},
      {"ReduceMax_two", "a[3,4,5]",
       "i = Constant <value_ints = [0, 2]> ()\n y = ReduceMax (a, i)", "1,4,1"},
      {"ReduceMin_all", "a[3,4]", "y = ReduceMin <keepdims = 0> (a)", ""},
      {"ReduceL1_rows", "a[3,4]:0.5..2",
       "i = Constant <value_ints = [1]> ()\n y = ReduceL1 (a, i)", "3,1"},
      {"ReduceL2_columns", "a[3,4]",
       "i = Constant <value_ints = [0]> ()\n y = ReduceL2 (a, i)", "1,4"},
      {"ReduceSumSquare_rows", "a[3,4]",
       "i = Constant <value_ints = [1]> ()\n y = ReduceSumSquare <keepdims = "
       "0> "
       "(a, i)",
       "3"},
      {"ReduceLogSum_rows", "a[3,4]:0.5..2",
       "i = Constant <value_ints = [1]> ()\n y = ReduceLogSum <keepdims = 0> "
       "(a, "
       "i)",
       "3"},
      {"ReduceLogSumExp_rows", "a[3,4]",
       "i = Constant <value_ints = [1]> ()\n y = ReduceLogSumExp <keepdims = "
       "0> "
       "(a, i)",
       "3"},
      {"ReduceLogSumExp_kept", "a[3,4]",
       "i = Constant <value_ints = [0]> ()\n y = ReduceLogSumExp (a, i)",
       "1,4"},
      {"Identity_plain", "a[3,2]", "y = Identity (a)", "3,2"},
      {"Identity_reused", "a[3,2]", "b = Identity (a)\n y = Mul (b, a)", "3,2"},
      {"Cast_plain", "a[3,5]", "b = Tanh (a)\n y = Cast <to = 1> (b)", "3,5"},
      {"Gather_rows",
       "a[7,3]",
       "y = Gather (a, labels)",
       "2,4,3",
       {2, 0, 6, -1, 2, 2, -7, 5},
       {2, 4}},
      {"Gather_columns",
       "a[3,5,2]",
       "y = Gather <axis = 1> (a, labels)",
       "3,2,2,2",
       {4, 0, 0, -2},
       {2, 2}},
      {"Gather_one", "a[6]", "y = Gather (a, labels)", "1", {-6}, {1}},
      {"Gather_known", "a[5,3]",
       "i = Constant <value = int64[2,2] {3, -5, 3, 1}> ()\n"
       " y = Gather (a, i)",
       "2,2,3"},
      {"Gather_part", "a[5,3] b[4,2]",
       "i = Constant <value = int64[1,3] {1, 2, -2}> ()\n"
       " j = Constant <value_int = -1> ()\n p = Gather (a, i)\n"
       " q = Gather <axis = 1> (b, j)\n"
       " k = Constant <value_ints = [1, 2]> ()\n u = Unsqueeze (q, k)\n"
       " y = Mul (p, u)",
       "4,3,3"},
      {"Gather_tied",
       "a[5,3]",
       "e = Gather (a, labels)\n t = Transpose <perm = [1, 0]> (a)\n"
       " h = Tanh (e)\n y = MatMul (h, t)",
       "4,5",
       {1, 4, 1, -1},
       {4}},
      {"Cast_labels",
       "a[3]",
       "t = Cast <to = 1> (labels)\n y = Mul (a, t)",
       "3",
       {2, 0, 5},
       {3}},
      {"Constant_operand", "a[2,3]",
       "k = Constant <value = float[3] {0.5, -2.0, 3.0}> ()\n y = Mul (a, k)",
       "2,3"},
      {"Constant_splat", "a[2,3]",
       "k = Constant <value = float[2, 1] {3.0, 3.0}> ()\n y = Div (k, a)",
       "2,3"},
      {"Constant_matrix", "a[2,3]",
       "k = Constant <value = float[3, 2] {2.0, 2.0, 2.0, 2.0, 2.0, 2.0}> ()\n"
       " y = MatMul (a, k)",
       "2,2"},
      {"Sqrt_plain", "a[6,5]:0.5..4", "y = Sqrt (a)", "6,5"},
      {"Pow_cube", "a[6,5]",
       "e = Constant <value = float {3.0}> ()\n y = Pow (a, e)", "6,5"},
      {"Pow_inverseRoot", "a[6,5]:0.5..4",
       "e = Constant <value = float {-0.5}> ()\n y = Pow (a, e)", "6,5"},
      {"Where_mask", "a[3,4] b[4]",
       "c = Constant <value = bool[3, 1] {1, 0, 1}> ()\n y = Where (c, a, b)",
       "3,4"},
      {"Where_infinite", "a[3,4]:-3..3",
       "c = Constant <value = bool[3, 4] {1,0,1,1, 0,0,1,0, 1,1,1,1}> ()\n"
       " o = Constant <value = float {-1.0}> ()\n"
       " z = Constant <value = float {0.0}> ()\n i = Div (o, z)\n m = Where "
       "(c, "
       "a, i)\n"
       " y = Softmax (m)",
       "3,4"},
      {"Where_scalar", "a[] b[2,3]",
       "c = Constant <value = bool[2, 3] {1,0,1,1,0,0}> ()\n"
       " y = Where (c, a, b)",
       "2,3"},

      // Softmax.
      {"Softmax_last", "a[4,7]:-3..3", "y = Softmax (a)", "4,7"},
      {"Softmax_first", "a[5,3]:-3..3", "y = Softmax <axis = 0> (a)", "5,3"},
      {"Softmax_middle", "a[2,5,3]:-3..3", "y = Softmax <axis = 1> (a)",
       "2,5,3"},
      {"Softmax_flattened", "a[2,3,4]:-3..3", "y = Softmax <axis = 1> (a)",
       "2,3,4"},
      {"LogSoftmax_last", "a[4,7]:-3..3", "y = LogSoftmax (a)", "4,7"},
      {"LogSoftmax_first", "a[5,3]:-3..3", "y = LogSoftmax <axis = 0> (a)",
       "5,3"},
      {"LogSoftmax_middle", "a[2,5,3]:-3..3", "y = LogSoftmax <axis = -2> (a)",
       "2,5,3"},

      // Operands that are usually constants.
      {"Pow_exponent", "x[3,4]:0.5..2 p[1]:1.5..3", "y = Pow (x, p)", "3,4"},
      // Attention, also written as products and a softmax.
      {"Attention_plain", "q[2,2,5,4] k[2,2,3,4] v[2,2,3,6]",
       "y = Attention (q, k, v)", "2,2,5,6"},
      {"Attention_causal", "q[1,2,3,4] k[1,2,5,4] v[1,2,5,2]",
       "y = Attention <is_causal = 1, scale = 1.5> (q, k, v)", "1,2,3,2"},
      {"Attention_causalLonger", "q[1,2,6,4] k[1,2,3,4] v[1,2,3,5]",
       "y = Attention <is_causal = 1> (q, k, v)", "1,2,6,5"},
      {"Attention_grouped", "q[2,6,4,3] k[2,2,4,3] v[2,2,4,5]",
       "y = Attention <is_causal = 1> (q, k, v)", "2,6,4,5"},
      {"Attention_joined", "q[2,3,8] k[2,5,4] v[2,5,6]",
       "y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v)", "2,3,12"},
      {"Attention_itself", "x[2,4,6]",
       "y = Attention <q_num_heads = 2, kv_num_heads = 2> (x, x, x)", "2,4,6"},
      {"Attention_mask", "q[2,4,3,4] k[2,2,5,4] v[2,2,5,2] m[2,1,3,5]",
       "y = Attention (q, k, v, m)", "2,4,3,2"},
      {"Attention_past",
       "q[2,4,3,4] k[2,2,3,4] v[2,2,3,2] c[2,2,2,4] d[2,2,2,2]",
       "y, e, f = Attention <is_causal = 1> (q, k, v,, c, d)", "2,4,3,2"},
      {"Attention_window",
       "q[1,2,5,3] k[1,2,5,3] v[1,2,5,2]",
       "y = Attention <left_window_size = 1, right_window_size = 2> (q, k, v)",
       "1,2,5,2",
       {},
       {},
       nullptr,
       -1,
       1,
       25},
      {"Attention_lengths",
       "q[2,1,3,3] k[2,1,4,3] v[2,1,4,2]",
       "n = Constant <value_ints = [4, 2]> ()\n"
       " y = Attention <is_causal = 1> (q, k, v,,,, n)",
       "2,1,3,2",
       {},
       {},
       nullptr,
       -1,
       1,
       24},
      {"Attention_scores", "q[1,2,4,3] k[1,2,5,3] v[1,2,5,2]",
       "z, e, f, s = Attention <qk_matmul_output_mode = 1, softcap = 1.5>"
       " (q, k, v)\n"
       " a = Constant <value_ints = [3]> ()\n"
       " m = ReduceMean (s, a)\n y = Add (z, m)",
       "1,2,4,2"},
      {"RotaryEmbedding_halves", "x[2,3,4,6] c[2,4,3] s[2,4,3]",
       "y = RotaryEmbedding (x, c, s)", "2,3,4,6"},
      {"RotaryEmbedding_pairs", "x[2,4,12] c[5,2] s[5,2]",
       "p = Constant <value = int64[2,4] {0, 1, 4, 3, 2, 2, 4, 0}> ()\n"
       " y = RotaryEmbedding <num_heads = 2, interleaved = 1,"
       " rotary_embedding_dim = 4> (x, c, s, p)",
       "2,4,12"},
      {"LinearAttention_linear",
       "q[2,3,4] k[2,3,2] v[2,3,3] s[2,1,2,3]",
       "y, z = LinearAttention <q_num_heads = 2, kv_num_heads = 1,"
       " update_rule = \"linear\"> (q, k, v, s)",
       "2,3,6",
       {},
       {},
       nullptr,
       -1,
       1,
       27},
      {"LinearAttention_gatedDelta",
       "q[1,3,4] k[1,3,4] v[1,3,6] d[1,3,4] b[1,3,2]",
       "y, z = LinearAttention <q_num_heads = 2, kv_num_heads = 2> "
       "(q, k, v,, d, b)",
       "1,3,6",
       {},
       {},
       nullptr,
       -1,
       1,
       27},
      {"CausalConvWithState_silu",
       "x[2,3,4] w[3,1,3] b[3] s[2,3,2]",
       "y, z = CausalConvWithState <activation = \"silu\"> (x, w, b, s)",
       "2,3,4",
       {},
       {},
       nullptr,
       -1,
       1,
       27},
      {"SwiGLU_alpha",
       "a[3,5] b[3,5]",
       "y = SwiGLU <alpha = 1.5> (a, b)",
       "3,5",
       {},
       {},
       nullptr,
       -1,
       1,
       28},
      {"Attention_softcap", "q[1,2,4,3] k[1,2,4,3] v[1,2,4,3]",
       "y = Attention <softcap = 1.5, is_causal = 1> (q, k, v)", "1,2,4,3"},

      // Norms.
      {"LayerNormalization_last", "a[4,7] s[7] b[7]",
       "y = LayerNormalization (a, s, b)", "4,7"},
      {"LayerNormalization_two", "a[3,2,5] s[2,5] b[2,5]",
       "y = LayerNormalization <axis = 1, epsilon = 0.001> (a, s, b)", "3,2,5"},
      {"LayerNormalization_all", "a[3,4] s[3,4]",
       "y = LayerNormalization <axis = 0> (a, s)", "3,4"},
      {"LayerNormalization_broadcast", "a[3,2,5] s[5] b[2,1]",
       "y = LayerNormalization <axis = -2> (a, s, b)", "3,2,5"},
      {"RMSNormalization_last", "a[4,7] s[7]", "y = RMSNormalization (a, s)",
       "4,7"},
      {"RMSNormalization_two", "a[3,2,5] s[5]",
       "y = RMSNormalization <axis = 1, epsilon = 0.001> (a, s)", "3,2,5"},
      {"BatchNormalization_images", "a[4,3,2,5] s[3] b[3] m[3]:0..0 v[3]:1..1",
       "y = BatchNormalization (a, s, b, m, v)", "4,3,2,5"},
      {"BatchNormalization_matrix", "a[6,5] s[5] b[5] m[5]:0..0 v[5]:1..1",
       "y = BatchNormalization <epsilon = 0.01, momentum = 0.8> (a, s, b, m, "
       "v)",
       "6,5"},
      {"BatchNormalization_signal", "a[3,4,5] s[4] b[4] m[4]:0..0 v[4]:1..1",
       "y = BatchNormalization (a, s, b, m, v)", "3,4,5"},
      {"BatchNormalization_twice",
       "a[6,4] s[4] b[4] m[4]:0..0 v[4]:1..1 "
       "m2[4]:0..0 v2[4]:1..1",
       "h = BatchNormalization (a, s, b, m, v)\n g = Tanh (h)\n"
       " y = BatchNormalization (g, s, b, m2, v2)",
       "6,4"},
      {"Dropout_half", "a[9,7]",
       "r = Constant <value = float {0.5}> ()\n y = Dropout (a, r)", "9,7"},
      {"Dropout_twoOfThem", "a[9,7]",
       "r = Constant <value = float {0.3}> ()\n b = Dropout (a, r)\n"
       " h = Tanh (b)\n y = Dropout (h, r)",
       "9,7"},
      {"Dropout_images", "x[2,3,4,4] w[5,3,1,1] v[2,5,3,3]",
       "r = Constant <value = float {0.4}> ()\n h = Conv (x, w)\n"
       " d = Dropout (h, r)\n y = Conv (d, v)",
       "2,2,2,2"},

      // Pooling.
      {"MaxPool_plain", "x[2,3,6,4]",
       "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)", "2,3,3,2"},
      {"MaxPool_overlap", "x[2,3,7,6]",
       "y = MaxPool <kernel_shape = [3, 2], strides = [2, 1],"
       " pads = [1, 0, 1, 1]> (x)",
       "2,3,4,6"},
      {"MaxPool_dilation", "x[1,2,7,7]",
       "y = MaxPool <kernel_shape = [2, 3], dilations = [3, 2]> (x)",
       "1,2,4,3"},
      {"MaxPool_ceiling", "x[1,2,7,5]",
       "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>"
       " (x)",
       "1,2,3,2"},
      {"MaxPool_oneDimension", "x[2,3,8]",
       "y = MaxPool <kernel_shape = [3], strides = [2], pads = [1, 1]> (x)",
       "2,3,4"},
      {"AveragePool_plain", "x[2,3,6,4]",
       "y = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (x)",
       "2,3,3,2"},
      {"AveragePool_padsCounted", "x[2,3,7,6]",
       "y = AveragePool <kernel_shape = [3, 2], strides = [2, 1],"
       " pads = [1, 0, 1, 1], count_include_pad = 1> (x)",
       "2,3,4,6"},
      {"AveragePool_padsLeftOut", "x[2,3,7,6]",
       "y = AveragePool <kernel_shape = [3, 2], strides = [2, 1],"
       " pads = [1, 0, 1, 1]> (x)",
       "2,3,4,6"},
      {"AveragePool_dilation", "x[1,2,7,7]",
       "y = AveragePool <kernel_shape = [2, 3], dilations = [3, 2],"
       " pads = [1, 1, 0, 0]> (x)",
       "1,2,5,4"},
      {"AveragePool_oneDimension", "x[2,3,8]",
       "y = AveragePool <kernel_shape = [3], strides = [2], pads = [1, 0]> (x)",
       "2,3,4"},
      {"GlobalAveragePool_images", "x[2,3,4,5]", "y = GlobalAveragePool (x)",
       "2,3,1,1"},
      {"GlobalAveragePool_signal", "x[2,3,7]", "y = GlobalAveragePool (x)",
       "2,3,1"},

      // Shapes.
      {"Flatten_middle", "a[2,3,4]", "y = Flatten (a)", "2,12"},
      {"Flatten_all", "a[2,3,4]", "b = Tanh (a)\n y = Flatten <axis = 0> (b)",
       "1,24"},
      {"Reshape_guess", "a[2,3,4]",
       "s = Constant <value = int64[2] {0, -1}> ()\n b = Tanh (a)\n"
       " y = Reshape (b, s)",
       "2,12"},
      {"Reshape_split", "a[6,4]",
       "s = Constant <value = int64[4] {2, 3, 1, 4}> ()\n y = Reshape (a, s)",
       "2,3,1,4"},
      {"Transpose_matrix", "a[3,5]", "y = Transpose (a)", "5,3"},
      {"Transpose_cycle", "a[2,3,4]",
       "b = Tanh (a)\n y = Transpose <perm = [1, 2, 0]> (b)", "3,4,2"},
      {"Transpose_four", "a[2,3,4,5]",
       "y = Transpose <perm = [3, 0, 2, 1]> (a)", "5,2,4,3"},
      {"Squeeze_one", "a[3,1,4,1]",
       "s = Constant <value = int64[1] {1}> ()\n y = Squeeze (a, s)", "3,4,1"},
      {"Squeeze_all", "a[3,1,4,1]", "b = Tanh (a)\n y = Squeeze (b)", "3,4"},
      {"Unsqueeze_two", "a[3,4]",
       "s = Constant <value = int64[2] {0, -1}> ()\n y = Unsqueeze (a, s)",
       "1,3,4,1"},
      {"Unsqueeze_broadcast", "a[3] b[3]",
       "s = Constant <value = int64[1] {1}> ()\n c = Unsqueeze (a, s)\n"
       " y = Mul (c, b)",
       "3,3"},
      {"Split_even", "a[2,6,3]",
       "b, c, d = Split <axis = 1, num_outputs = 3> (a)\n t = Mul (b, c)\n"
       " y = Mul (t, d)",
       "2,2,3"},
      {"Split_unused", "a[2,7]",
       "s = Constant <value = int64[3] {3, 1, 3}> ()\n"
       " b, c, d = Split <axis = -1> (a, s)\n y = Mul (b, d)",
       "2,3"},
      {"Split_heads", "a[2,3,20]",
       "s = Constant <value = int64[3] {8, 8, 4}> ()\n"
       " q, k, v = Split <axis = 2> (a, s)\n"
       " f = Constant <value = int64[4] {2, 3, 4, 2}> ()\n"
       " g = Constant <value = int64[4] {2, 3, 2, 2}> ()\n"
       " q1 = Reshape (q, f)\n k1 = Reshape (k, f)\n v1 = Reshape (v, g)\n"
       " q2 = Transpose <perm = [0, 2, 1, 3]> (q1)\n"
       " k2 = Transpose <perm = [0, 2, 3, 1]> (k1)\n p = MatMul (q2, k2)\n"
       " r = ReduceMean <keepdims = 1> (v1)\n y = Mul (p, r)",
       "2,4,3,3"},
      {"Slice_box", "a[4,5]",
       "b = Constant <value = int64[2] {1, -4}> ()\n"
       " e = Constant <value = int64[2] {3, 4}> ()\n y = Slice (a, b, e)",
       "2,3"},
      {"Slice_overlapping", "a[7]",
       "o = Constant <value = int64[1] {0}> ()\n"
       " p = Constant <value = int64[1] {2}> ()\n"
       " q = Constant <value = int64[1] {5}> ()\n"
       " r = Constant <value = int64[1] {7}> ()\n"
       " b = Slice (a, o, q)\n c = Slice (a, p, r)\n y = Mul (b, c)",
       "5"},
      {"Expand_plain", "a[3,1,2]",
       "s = Constant <value = int64[3] {3, 4, 2}> ()\n e = Expand (a, s)\n"
       " y = Mul (e, e)",
       "3,4,2"},
      {"Concat_last", "a[3,2] b[3,4] c[3,1]",
       "y = Concat <axis = -1> (a, b, c)", "3,7"},
      {"Concat_first", "a[2,3] b[4,3]",
       "t = Tanh (b)\n"
       " y = Concat <axis = 0> (a, t)",
       "6,3"},
      {"Concat_twice", "a[2,3,2]",
       "t = Tanh (a)\n y = Concat <axis = 1> (t, a, t)", "2,9,2"},

      // Reductions.
      {"ReduceSum_keep", "a[3,4,5]",
       "s = Constant <value = int64[1] {1}> ()\n y = ReduceSum (a, s)",
       "3,1,5"},
      {"ReduceSum_drop", "a[3,4,5]",
       "s = Constant <value = int64[2] {0, -1}> ()\n t = Mul (a, a)\n"
       " y = ReduceSum <keepdims = 0> (t, s)",
       "4"},
      {"ReduceSum_all", "a[3,4]",
       "t = Tanh (a)\n y = ReduceSum <keepdims = 0> (t)", ""},
      {"ReduceMean_keep", "a[3,4,5]",
       "s = Constant <value = int64[2] {0, 2}> ()\n y = ReduceMean (a, s)",
       "1,4,1"},
      {"ReduceMean_drop", "a[3,4,5]",
       "s = Constant <value = int64[1] {2}> ()\n t = Mul (a, a)\n"
       " y = ReduceMean <keepdims = 0> (t, s)",
       "3,4"},
      {"ReduceMean_all", "a[3,4]", "t = Tanh (a)\n y = ReduceMean (t)", "1,1"},
      {"ReduceMean_attribute",
       "a[3,4,2]",
       "y = ReduceMean <axes = [0], keepdims = 0> (a)",
       "4,2",
       {},
       {},
       nullptr,
       -1,
       1,
       17},

      // Losses in the graph.
      {"SoftmaxCrossEntropyLoss_mean",
       "a[5,4]:-2..2",
       "y = SoftmaxCrossEntropyLoss (a, labels)",
       nullptr,
       {0, 3, 2, 1, 3},
       {5}},
      {"SoftmaxCrossEntropyLoss_weighted",
       "a[5,4]:-2..2",
       "y = SoftmaxCrossEntropyLoss <ignore_index = 2> (a, labels, k)",
       nullptr,
       {0, 3, 2, 1, 3},
       {5}},
      {"SoftmaxCrossEntropyLoss_ignored",
       "a[5,4]:-2..2",
       "y = SoftmaxCrossEntropyLoss <ignore_index = -100> (a, labels)",
       nullptr,
       {0, -100, 2, 1, -100},
       {5}},
      {"SoftmaxCrossEntropyLoss_sum",
       "a[5,4]:-2..2",
       "y = SoftmaxCrossEntropyLoss <reduction = \"sum\"> (a, labels)",
       nullptr,
       {0, 3, 2, 1, 3},
       {5}},
      {"SoftmaxCrossEntropyLoss_none",
       "a[5,4]:-2..2",
       "y = SoftmaxCrossEntropyLoss <reduction = \"none\"> (a, labels)",
       "5",
       {0, 3, 2, 1, 3},
       {5}},
      {"SoftmaxCrossEntropyLoss_dense",
       "a[2,4,3]:-2..2",
       "y = SoftmaxCrossEntropyLoss (a, labels)",
       nullptr,
       {0, 3, 2, 1, 3, 0},
       {2, 3}},
      {"SoftmaxCrossEntropyLoss_logProb",
       "a[5,4]:-2..2",
       "l, p = SoftmaxCrossEntropyLoss (a, labels)\n"
       " q = ReduceMean <keepdims = 0> (p)\n y = Mul (l, q)",
       nullptr,
       {0, 3, 2, 1, 3},
       {5}},
      {"NegativeLogLikelihoodLoss_mean",
       "a[5,4]:-2..2",
       "p = LogSoftmax (a)\n y = NegativeLogLikelihoodLoss (p, labels)",
       nullptr,
       {0, 3, 2, 1, 3},
       {5}},
      {"NegativeLogLikelihoodLoss_weighted",
       "a[5,4]:-2..2",
       "p = LogSoftmax (a)\n"
       " y = NegativeLogLikelihoodLoss <ignore_index = 1> (p, labels, k)",
       nullptr,
       {0, 3, 2, 1, 3},
       {5}},
      {"NegativeLogLikelihoodLoss_sum",
       "a[2,4,3]:-2..2",
       "y = NegativeLogLikelihoodLoss <reduction = \"sum\"> (a, labels)",
       nullptr,
       {0, 3, 2, 1, 3, 0},
       {2, 3}},
      {"NegativeLogLikelihoodLoss_none",
       "a[2,4,3]:-2..2",
       "y = NegativeLogLikelihoodLoss <reduction = \"none\"> (a, labels)",
       "2,3",
       {0, 3, 2, 1, 3, 0},
       {2, 3}},

      // Losses that mpc adds.
      {"mse_matrix", "a[4,3]", "y = Tanh (a)", "4,3", {}, {}, "mse"},
      {"mse_images", "a[2,3,2,2]", "y = Mul (a, a)", "2,3,2,2", {}, {}, "mse"},
      {"l1_matrix", "a[4,3]", "y = Tanh (a)", "4,3", {}, {}, "l1"},
      {"l1_vector", "a[6]:-2..2", "y = Mul (a, a)", "6", {}, {}, "l1"},
      {"bce_matrix",
       "a[4,3]:-3..3",
       "y = Identity (a)",
       "4,3",
       {},
       {},
       "bce-with-logits",
       0,
       1},
      {"bce_vector",
       "a[7]:-3..3",
       "y = Mul (a, a)",
       "7",
       {},
       {},
       "bce-with-logits",
       0,
       1},
      {"crossEntropy_matrix",
       "a[5,4]:-2..2",
       "y = Tanh (a)",
       "5,4",
       {0, 3, 2, 1, 3},
       {5},
       "softmax-cross-entropy"},

      // Parameters with several uses, and networks.
      {"shared_layers", "x[3,4] w[4,4] b[4]",
       "h = Gemm (x, w, b)\n t = Tanh (h)\n g = Gemm (t, w, b)\n"
       " y = Tanh (g)",
       "3,4"},
      {"shared_tied", "x[3,4] w[4,5]",
       "h = MatMul (x, w)\n t = Gelu (h)\n y = Gemm <transB = 1> (t, w)",
       "3,4"},
      {"shared_conv", "x[1,3,5,5] w[3,3,3,3]",
       "h = Conv <pads = [1, 1, 1, 1]> (x, w)\n t = Tanh (h)\n"
       " y = Conv (t, w)",
       "1,3,3,3"},
      {"network_mlp",
       "x[6,5] w[7,5] b[7] s[7] t[7] v[3,7] c[3]",
       "h = Gemm <transB = 1> (x, w, b)\n n = LayerNormalization (h, s, t)\n"
       " g = Gelu (n)\n r = Constant <value = float {0.25}> ()\n"
       " d = Dropout (g, r)\n y = Gemm <transB = 1> (d, v, c)",
       "6,3",
       {0, 1, 2, 2, 1, 0},
       {6},
       "softmax-cross-entropy"},
      {"network_cnn",
       "x[3,2,6,6] w[4,2,3,3] s[4] b[4] m[4]:0..0 v[4]:1..1 u[4,4,3,3] c[4] "
       "f[3,4] g[3]",
       "h = Conv <pads = [1, 1, 1, 1]> (x, w)\n"
       " n = BatchNormalization (h, s, b, m, v)\n r = Relu (n)\n"
       " p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)\n"
       " q = Conv <pads = [1, 1, 1, 1]> (p, u, c)\n z = Add (q, p)\n"
       " a = GlobalAveragePool (z)\n e = Flatten (a)\n"
       " y = Gemm <transB = 1> (e, f, g)",
       "3,3",
       {0, 2, 1},
       {3},
       "softmax-cross-entropy"},
      {"network_attention", "x[2,4,6] q[6,6] k[6,6] v[6,6]",
       "a = MatMul (x, q)\n b = MatMul (x, k)\n c = MatMul (x, v)\n"
       " t = Transpose <perm = [0, 2, 1]> (b)\n d = MatMul (a, t)\n"
       " e = Constant <value = float {0.40824829}> ()\n f = Mul (d, e)\n"
       " g = Softmax (f)\n h = MatMul (g, c)\n y = Add (h, x)",
       "2,4,6"},
  };
  return rows;
}

const std::vector<Model> &models() {
  static const std::vector<Model> all = [] {
    std::vector<Model> result = table();
    for (auto others : {modelsByIndex, modelsOfGradients})
      result.insert(result.end(), others().begin(), others().end());
    return result;
  }();
  return all;
}

static std::string shapeText(const Shape &shape) {
  if (shape.empty())
    return "";
  std::string text = "[";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

static std::string declare(const TensorSpec &tensor) {
  return tensor.type + shapeText(tensor.shape) + " " + tensor.name;
}

/// The inputs with data, in order.
static std::vector<TensorSpec> dataInputs(const Model &model) {
  std::vector<TensorSpec> inputs;
  std::string nodes = model.nodes;
  if (!model.loss && model.result)
    inputs.push_back(
        parseTensors("projection[" + std::string(model.result) + "]")[0]);
  // Class weights are data, not parameters.
  if (nodes.find("labels, k)") != std::string::npos)
    inputs.push_back(parseTensors("k[4]:0.5..2")[0]);
  if (!model.labels.empty()) {
    TensorSpec labels;
    labels.name = "labels";
    labels.type = "int64";
    labels.shape = model.labelShape;
    labels.values = model.labels;
    inputs.push_back(labels);
  } else if (model.loss) {
    TensorSpec targets =
        parseTensors("targets[" + std::string(model.result) + "]")[0];
    targets.low = model.low;
    targets.high = model.high;
    inputs.push_back(targets);
  }
  return inputs;
}

std::string textOf(const Model &model) {
  std::ostringstream text;
  text << "<ir_version: 9, opset_import: [\"\" : " << model.opset
       << ", \"ai.onnx.preview.training\" : 1]>\n"
       << "model (";
  const char *separator = "";
  for (const TensorSpec &input : dataInputs(model)) {
    if (model.loss)
      continue; // mpc adds this input itself.
    text << separator << declare(input);
    separator = ", ";
  }
  uint64_t seed = model.seed;
  for (const TensorSpec &parameter : parseTensors(model.parameters)) {
    text << separator << declare(parameter) << " = {";
    separator = "";
    for (double value : parameter.fill(seed++)) {
      text << separator << std::showpoint << value;
      separator = ", ";
    }
    text << "}";
    separator = ", ";
  }
  std::string result = model.loss ? "y" : "loss";
  Shape shape;
  if (model.loss)
    shape = parseTensors("y[" + std::string(model.result) + "]")[0].shape;
  text << ") => (float" << shapeText(shape) << " " << result << ")\n{\n "
       << model.nodes << "\n";
  if (!model.loss && model.result)
    text << " product = Mul (y, projection)\n"
         << " loss = ReduceSum <keepdims = 0> (product)\n";
  else if (!model.loss)
    text << " loss = Identity (y)\n";
  text << "}\n";
  return text.str();
}

std::vector<Values> inputsOf(const Model &model) {
  std::vector<Values> result;
  uint64_t seed = 100;
  for (const TensorSpec &input : dataInputs(model))
    result.push_back(input.fill(seed++));
  return result;
}

} // namespace mpc::test
