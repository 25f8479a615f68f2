// The smallest valid node of every op.
#ifndef MPC_TEST_COMPILER_IMPORT_NODES_H
#define MPC_TEST_COMPILER_IMPORT_NODES_H

#include <string>
#include <vector>

namespace mpc {

/// Inputs and nodes of a graph with output y, in ONNX's text syntax.
struct SmallGraph {
  const char *inputs, *nodes;
  int opset = 28;
  const char *values = ""; ///< Declarations of other values.
};

// Ops of one input x of floats; of two numbers; of two bools.
constexpr const char *kUnaryOps =
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor "
    "Gelu HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log Mish Neg Reciprocal "
    "Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish "
    "Tan Tanh ThresholdedRelu Identity Bernoulli Flatten Hardmax LogSoftmax "
    "Softmax LpNormalization ReduceL1 ReduceL2 "
    "ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSum ReduceSumSquare Shape Size Transpose ArgMax ArgMin "
    "RandomNormalLike RandomUniformLike GlobalAveragePool GlobalLpPool "
    "GlobalMaxPool Squeeze Clip Dropout Sum Mean Max Min";
constexpr const char *kBinaryOps =
    "Add Sub Mul Div Pow Mod PRelu Equal Greater GreaterOrEqual Less "
    "LessOrEqual Sum Mean Max Min MatMul CastLike RMSNormalization "
    "LayerNormalization";
constexpr const char *kLogicalOps = "And Or Xor";

constexpr SmallGraph kSmallGraphs[] = {
    {"bool[2] x", "y = Not (x)"},
    {"float[2, 3] x", "y = Cast <to = 7, saturate = 1> (x)"},
    {"float[2, 3] x, float a = {0}, float b", "y = Clip (x, a, b)"},
    {"float[2] x, float[2] z", "y = SwiGLU (x, z)"},
    {"int64[2] x", "y = Neg (x)"},
    {"int64[2] x, int64[2] z", "y = Mod <fmod = 1> (x, z)"},
    {"bool[2] c, float[2] x, float[2] z", "y = Where (c, x, z)"},
    {"float[2] x", "k = Constant <value = float[2] {1, 2}> () y = Add (x, k)"},
    {"float[2] x", "k = Constant <value_ints = [1, 2]> () y = Identity (k)"},
    {"int64[2] s = {2, 3}", "y = ConstantOfShape <value = float[1] {2}> (s)"},
    {"int64 s = {0}, int64 l = {4}, int64 d = {2}", "y = Range (s, l, d)"},
    {"float[2, 3] x, int64 k = {1}", "y = Trilu <upper = 0> (x, k)"},
    {"int64[2, 2] x = {1, 0, 2, 3}, int64 k = {1}", "y = Trilu (x, k)"},
    {"float[2, 3] x", "y = EyeLike <k = 1, dtype = 1> (x)"},
    {"int64[2, 2] x = {1, 0, 2, 3}", "y = NonZero (x)"},
    {"int64 n = {4}", "y = HannWindow <periodic = 0, output_datatype = 1> (n)"},
    {"int64 n = {4}", "y = HammingWindow (n)"},
    {"int64 n = {4}", "y = BlackmanWindow (n)"},
    {"", "y = RandomNormal <shape = [2, 3], dtype = 1, mean = 1.0> ()"},
    {"", "y = RandomUniform <shape = [2, 3], low = 1.0, high = 2.0> ()"},
    // Shapes.
    {"float[2, 3] x, int64[2] s = {3, -1}",
     "y = Reshape <allowzero = 0> (x, s)"},
    {"int64[6] x = {1, 2, 3, 4, 5, 6}, int64[2] s = {3, -1}",
     "y = Reshape (x, s)"},
    {"float[2, 1, 3] x, int64[1] a = {1}", "y = Squeeze (x, a)"},
    {"float[2, 3] x, int64[2] a = {0, -1}", "y = Unsqueeze (x, a)"},
    {"float[2, 3] x", "y = Shape <start = 0, end = 1> (x)"},
    {"float[2, 3] x", "y = Flatten <axis = 1> (x)"},
    {"float[2, 3] x", "y = Transpose <perm = [1, 0]> (x)"},
    {"int64[2, 1] x = {1, 2}", "y = Transpose <perm = [1, 0]> (x)"},
    {"float[2, 1] x, int64[2] s = {1, 3}", "y = Expand (x, s)"},
    {"int64[2, 1] x = {1, 2}, int64[2] s = {1, 3}", "y = Expand (x, s)"},
    {"float[2, 3] x, int64[2] i = {1, 0}", "y = Gather <axis = 1> (x, i)"},
    {"float[2, 3] x, int64[2] i", "y = Gather <axis = 0> (x, i)"},
    {"int64[3] x = {4, 5, 6}, int64[2] i = {1, 0}",
     "y = Gather <axis = 0> (x, i)"},
    {"float[4, 5] x, int64[2] s = {0, 3}, int64[2] e = {4, 0}, "
     "int64[2] a = {0, 1}, int64[2] t = {2, -1}",
     "y = Slice (x, s, e, a, t)"},
    {"int64[4] x = {1, 2, 3, 4}, int64[1] s = {3}, int64[1] e = {0}, "
     "int64[1] a = {0}, int64[1] t = {-2}",
     "y = Slice (x, s, e, a, t)"},
    {"float[4, 2] x, int64[2] s = {1, 3}", "y, z = Split <axis = 0> (x, s)"},
    {"float[4, 2] x", "y, z = Split <num_outputs = 2> (x)"},
    {"float[2, 3] x, float[2, 1] z", "y = Concat <axis = 1> (x, z)"},
    {"int64[2] x = {1, 2}, int64[1] z = {3}", "y = Concat <axis = 0> (x, z)"},
    {"float[2, 3] x, int64[4] p = {0, 1, 0, 2}, float v = {1}",
     "y = Pad (x, p, v)"},
    {"float[2, 3] x, int64[2] p = {1, 2}, int64[1] a = {1}",
     "y = Pad <mode = \"reflect\"> (x, p, , a)"},
    {"float[2, 3] x, int64[2] n = {1, 2}", "y = Tile (x, n)"},
    {"int64[2] x = {1, 2}, int64[1] n = {2}", "y = Tile (x, n)"},
    {"float[1, 4, 2, 2] x", "y = DepthToSpace <blocksize = 2> (x)"},
    {"float[1, 4, 2, 2] x", "y = SpaceToDepth <blocksize = 2> (x)"},
    {"float[1, 1, 2, 2] x, float[4] s = {1, 1, 2, 1.5}",
     "y = Resize <mode = \"linear\"> (x, , s)"},
    {"float[2, 4] x, float[4] r = {0, 0, 1, 1}, int64[2] n = {3, 5}",
     "y = Resize <mode = \"cubic\", axes = [0, 1], antialias = 1, "
     "coordinate_transformation_mode = \"tf_crop_and_resize\"> (x, r, , n)"},
    {"float[2, 3] x, int64[1] n = {4}",
     "y = CenterCropPad <axes = [1]> (x, n)"},
    // By index and along dimensions.
    {"float[2, 3] x, int64[2, 1] i", "y = GatherElements <axis = 1> (x, i)"},
    {"float[2, 3] x, int64[2, 1] i = {1, 2}",
     "y = GatherElements <axis = 1> (x, i)"},
    {"int64[2, 3] x = {1, 2, 3, 4, 5, 6}, int64[2, 1] i = {1, 2}",
     "y = GatherElements <axis = 1> (x, i)"},
    {"float[2, 3] x, int64[2, 1] i = {1, 0}",
     "y = GatherND <batch_dims = 1> (x, i)"},
    {"float[2, 3] x, int64[2, 2] i", "y = GatherND (x, i)"},
    {"int64[2, 3] x = {1, 2, 3, 4, 5, 6}, int64[1, 2] i = {1, 2}",
     "y = GatherND (x, i)"},
    {"float[2, 3] x, int64[1, 1] i = {1}, float[1, 1] u",
     "y = ScatterElements <axis = 1, reduction = \"add\"> (x, i, u)"},
    {"float[2, 3] x, int64[1, 1] i, float[1, 1] u",
     "y = ScatterElements <axis = 1> (x, i, u)"},
    {"float[2, 3] x, int64[1, 1] i = {1}, float[1, 3] u",
     "y = ScatterND (x, i, u)"},
    {"int64[2] x = {1, 2}, int64[1, 1] i = {1}, int64[1] u = {3}",
     "y = ScatterND (x, i, u)"},
    {"int64[2] x, int64 d = {4}, float[2] v = {0, 1}",
     "y = OneHot <axis = 0> (x, d, v)"},
    {"float[2, 3] x, int64 a = {1}", "y = CumSum <reverse = 1> (x, a)"},
    {"int64[2, 3] x = {1, 2, 3, 4, 5, 6}, int64 a = {1}", "y = CumSum (x, a)"},
    {"float[2, 3] x", "y = ArgMax <axis = 1, keepdims = 0> (x)"},
    {"float[2, 3] x, int64[1] k = {2}", "y, z = TopK <axis = 1> (x, k)"},
    {"float[2, 3] x", "y = Hardmax <axis = 1> (x)"},
    {"float[2, 3, 2] x, int64[3] n",
     "y = ReverseSequence <time_axis = 0, batch_axis = 1> (x, n)"},
    {"float[2, 3] x, int64[1] a = {1}",
     "y = ReduceSum <keepdims = 0, noop_with_empty_axes = 1> (x, a)"},
    {"int64[2, 3] x, int64[1] a = {1}", "y = ReduceMax (x, a)"},
    // Sequences.
    {"float[4] x, int64[2] n = {1, 3}, int64 i = {0}",
     "s = SplitToSequence <axis = 0> (x, n) y = SequenceAt (s, i)"},
    {"float[4] x, int64 n = {3}", "s = SplitToSequence <axis = 0> (x, n) "
                                  "y = ConcatFromSequence <axis = 0> (s)"},
    {"float[4] x", "s = SplitToSequence <axis = 0, keepdims = 0> (x) "
                   "y = ConcatFromSequence <axis = 0, new_axis = 1> (s)"},
    {"float[4] x, float[4] z",
     "s = SequenceConstruct (x, z) "
     "y = ConcatFromSequence <axis = 0, new_axis = 1> (s)"},
    {"float[4] x, int64 i = {0}",
     "e = SequenceEmpty <dtype = 1> () s = SequenceInsert (e, x, i) "
     "y = SequenceLength (s)"},
    {"float[4] x, int64 i = {0}",
     "s = SequenceConstruct (x, x) t = SequenceErase (s, i) "
     "y = ConcatFromSequence <axis = 0> (t)"},
    // Control.
    {"bool c, float[2] x",
     "y = If (c) <then_branch = a () => (float[2] t) { t = Neg (x) }, "
     "else_branch = b () => (float[2] u) { u = Abs (x) }>"},
    {"float[2] x, int64 n = {2}, bool c = {1}",
     "z, y = Loop (n, c, x) <body = b (int64 i, bool d, float[2] p) => "
     "(bool e, float[2] q, float[2] r) "
     "{ e = Identity (d) q = Neg (p) r = Abs (p) }>"},
    {"float[2] x, float[3, 2] s",
     "z, y = Scan <num_scan_inputs = 1, scan_input_axes = [0], "
     "scan_output_axes = [1], body = b (float[2] p, float[2] q) => "
     "(float[2] r, float[2] t) { r = Add (p, q) t = Neg (q) }> (x, s)"},
    // Products and windows.
    {"float[2, 3] x, float[4, 3] w, float[4] b",
     "y = Gemm <transB = 1, alpha = 2.0, beta = 0.5> (x, w, b)"},
    {"float[2, 3] x, float[3] w", "y = MatMul (x, w)"},
    {"float[2, 3] x, float[3, 2] w",
     "y = Einsum <equation = \"ij,ji->i\"> (x, w)"},
    {"float[2, 3, 3] x", "y = Einsum <equation = \"...ii->...i\"> (x)"},
    {"float[1, 2, 4, 4] x, float[2, 1, 3, 3] w, float[2] b",
     "y = Conv <group = 2, strides = [1, 1], dilations = [1, 1], "
     "pads = [1, 1, 1, 1], kernel_shape = [3, 3]> (x, w, b)"},
    {"float[1, 1, 3, 3, 3] x, float[1, 1, 2, 2, 2] w, float[1] b",
     "y = Conv <auto_pad = \"SAME_UPPER\"> (x, w, b)"},
    {"float[1, 1, 3, 3] x, float[1, 1, 2, 2] w, float[1] b",
     "y = ConvTranspose <strides = [2, 2], dilations = [1, 1], "
     "output_padding = [1, 1], pads = [0, 0, 0, 0]> (x, w, b)"},
    {"float[1, 1, 3] x, float[1, 1, 2] w",
     "y = ConvTranspose <strides = [2], output_shape = [6]> (x, w)"},
    {"float[1, 1, 2, 2, 2] x, float[1, 1, 2, 2, 2] w, float[1] b",
     "y = ConvTranspose (x, w, b)"},
    {"float[1, 4, 4] x, int64[2] i = {3, 3}, int64[2] b = {2, 2}",
     "y = Col2Im <strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0]> "
     "(x, i, b)"},
    {"float[1, 1, 4, 4] x",
     "y, z = MaxPool <kernel_shape = [2, 2], strides = [1, 1], "
     "dilations = [1, 1], pads = [0, 0, 1, 1], storage_order = 1, "
     "ceil_mode = 1> (x)"},
    {"float[1, 1, 4, 4] x",
     "y = AveragePool <kernel_shape = [2, 2], strides = [2, 2], "
     "pads = [0, 0, 1, 1], count_include_pad = 1, ceil_mode = 1> (x)"},
    {"float[1, 1, 3, 3, 3] x",
     "y = AveragePool <kernel_shape = [2, 2, 2]> (x)"},
    {"float[1, 1, 4] x", "y = LpPool <kernel_shape = [2], p = 3> (x)"},
    {"float[1, 1, 4] x", "y = GlobalLpPool <p = 3> (x)"},
    {"float[1, 1, 3, 3] x, float[1, 2, 2, 2] g",
     "y = GridSample <align_corners = 1, mode = \"cubic\"> (x, g)"},
    {"float[1, 2, 3] x, int64[4] n = {1, 1, 2, 2}",
     "y = AffineGrid <align_corners = 1> (x, n)"},
    {"float[1, 1, 4, 4] x, float[2, 4] r, int64[2] b",
     "y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2> "
     "(x, r, b)"},
    {"float[1, 4, 1] x, int64 n = {4}, int64 a = {1}",
     "y = DFT <onesided = 1> (x, n, a)"},
    {"float[1, 3, 2] x, int64 n = {4}, int64 a = {1}",
     "y = DFT <inverse = 1, onesided = 1> (x, n, a)"},
    // Norms and losses.
    {"float[2, 3] x, float[3] s, float[3] b",
     "y, m, d = LayerNormalization <axis = -1, stash_type = 1> (x, s, b)"},
    {"float[2, 3] x, float[3] s",
     "y = RMSNormalization <axis = -1, stash_type = 1> (x, s)"},
    {"float[2, 1] x, float[1] s = {1}, float[1] b = {0}, float[1] m = {0}, "
     "float[1] v = {1}",
     "y = BatchNormalization <training_mode = 0> (x, s, b, m, v)"},
    {"float[2, 2, 3] x, float[2] s, float[2] b",
     "y = InstanceNormalization (x, s, b)"},
    {"float[2, 4, 3] x, float[4] s, float[4] b",
     "y = GroupNormalization <num_groups = 2, stash_type = 1> (x, s, b)"},
    {"float[1, 3, 2] x", "y = LRN <size = 3, alpha = 0.1> (x)"},
    {"float[2, 3] x", "y = LpNormalization <axis = 1, p = 1> (x)"},
    {"float[2, 3] x", "y = MeanVarianceNormalization <axes = [0]> (x)"},
    {"float[2, 3] x, float r = {0.25}, bool t = {1}",
     "y = Dropout <seed = 1> (x, r, t)"},
    {"float[2, 3, 2] x, int64[2, 2] l, float[3] w",
     "y, z = SoftmaxCrossEntropyLoss <ignore_index = 1, reduction = \"sum\"> "
     "(x, l, w)"},
    {"float[2, 3] x, int64[2] l",
     "y = NegativeLogLikelihoodLoss <ignore_index = 1> (x, l)"},
    // Recurrent, attention.
    {"float[3, 2, 2] x, float[1, 2, 2] w, float[1, 2, 2] r, float[1, 4] b, "
     "int32[2] n, float[1, 2, 2] h",
     "z, y = RNN <hidden_size = 2, layout = 0> (x, w, r, b, n, h)"},
    {"float[3, 2, 2] x, float[1, 6, 2] w, float[1, 6, 2] r, float[1, 12] b",
     "z, y = GRU <hidden_size = 2, linear_before_reset = 1> (x, w, r, b)"},
    {"float[3, 2, 2] x, float[1, 8, 2] w, float[1, 8, 2] r, float[1, 16] b, "
     "int32[2] n, float[1, 2, 2] h, float[1, 2, 2] c, float[1, 6] p",
     "z, y, a = LSTM <hidden_size = 2, input_forget = 1, "
     "activations = [\"Sigmoid\", \"Tanh\", \"HardSigmoid\"], "
     "activation_alpha = [0.1, 0.2, 0.3]> (x, w, r, b, n, h, c, p)"},
    {"float[1, 2, 4] x, float[1, 1, 1, 2] k",
     "y = Attention <q_num_heads = 2, kv_num_heads = 2, is_causal = 1, "
     "scale = 0.5> (x, x, x)"},
    {"float[1, 2, 3, 4] x, bool[3, 5] m, float[1, 2, 2, 4] k",
     "y, a, b, c = Attention <is_causal = 1, qk_matmul_output_mode = 2, "
     "left_window_size = 1, right_window_size = 1, softcap = 2.0, "
     "softmax_precision = 1> (x, x, x, m, k, k)"},
    {"float[2, 2, 3, 4] x, int64[2] n",
     "y = Attention <left_window_size = 1> (x, x, x, , , , n)"},
    {"float[1, 2, 4] x, float[1, 2, 4] d, float[1, 2, 2] b, "
     "float[1, 2, 2, 2] s",
     "y, z = LinearAttention <q_num_heads = 2, kv_num_heads = 2, "
     "chunk_size = 1> (x, x, x, s, d, b)"},
    {"float[1, 2, 4] x, float[2, 1, 3] w, float[2] b, float[1, 2, 2] s",
     "y, z = CausalConvWithState <activation = \"silu\"> (x, w, b, s)"},
    {"float[1, 3, 4] x, float[5, 1] c, float[5, 1] s, int64[1, 3] p",
     "y = RotaryEmbedding <num_heads = 2, rotary_embedding_dim = 2, "
     "interleaved = 1> (x, c, s, p)"},
    {"float[1, 2, 3, 4] x, float[1, 3, 2] c, float[1, 3, 2] s",
     "y = RotaryEmbedding (x, c, s)"},
    {"float[2] x", "l = Exp (x) y = ai.onnx.preview.training.Gradient "
                   "<xs = [\"x\"], y = \"l\"> (x)"},
    {"float r, int64 t, float[2] x, float[2] g, float[2] v, float[2] h",
     "y, b, c = ai.onnx.preview.training.Adam <alpha = 0.8, beta = 0.9, "
     "norm_coefficient_post = 0.5> (r, t, x, g, v, h)"},
    {"float r, int64 t, float[2] x, float[2] g, float[2] v",
     "y, b = ai.onnx.preview.training.Momentum <alpha = 0.8, beta = 0.9, "
     "norm_coefficient = 0.1, mode = \"nesterov\"> (r, t, x, g, v)"},
    {"float r, int64 t, float[2] x, float[2] g, float[2] h",
     "y, b = ai.onnx.preview.training.Adagrad <decay_factor = 0.1> "
     "(r, t, x, g, h)"},
    // Ops that mpc itself writes.
    {"float r, int64 t, float[2] x, float[2] g, float[2] v, float[2] h",
     "y, b, c = mpc.Adam <beta1 = 0.8> (r, t, x, g, v, h)"},
    {"float r, int64 t, float[2] x, float[2] g, float[2] v, float[2] h",
     "y, b, c = mpc.AdamW <weight_decay = 0.1> (r, t, x, g, v, h)"},
    // Ops that ONNX Runtime's gradient builder writes.
    {"float[2, 3] x", "y = com.microsoft.ReluGrad (x, x)"},
    {"float[2, 3] x", "y = com.microsoft.SigmoidGrad (x, x)"},
    {"float[2, 3] x", "y = com.microsoft.TanhGrad (x, x)"},
    {"float[2, 3] x", "y = com.microsoft.LeakyReluGrad <alpha = 0.2> (x, x)"},
    {"float[2, 3] x",
     "y = com.microsoft.GeluGrad <approximate = \"tanh\"> (x, x)"},
    {"float[2, 3] x", "y = com.microsoft.FastGeluGrad (x, x)"},
    {"float[2, 3] x", "y = com.microsoft.QuickGeluGrad <alpha = 1.0> (x, x)"},
    {"float[2, 3] x, float[3] b",
     "y = com.microsoft.BiasGeluGrad_dX (x, x, b)"},
    {"float[2, 3] x, float[3] b",
     "y = com.microsoft.BiasFastGeluGrad_dX (x, x, b)"},
    {"float[2, 3] x", "y = com.microsoft.Gelu (x)"},
    {"float[2, 3] x, float[3] b", "y = com.microsoft.FastGelu (x, b)"},
    {"float[2, 3] x, float[3] b", "y = com.microsoft.BiasGelu (x, b)"},
    {"float[2, 3] x", "y = com.microsoft.QuickGelu <alpha = 1.0> (x)"},
    {"float[2, 3] x, float[3] b",
     "y = com.microsoft.BiasSoftmax <axis = 1, is_inner_broadcast = 0> (x, b)"},
    {"float[2, 3, 2] x", "y = com.microsoft.SoftmaxGrad <axis = 1> (x, x)"},
    {"float[2, 3, 2] x", "y = com.microsoft.LogSoftmaxGrad <axis = 1> (x, x)"},
    {"float[2, 3] x", "y = com.microsoft.SoftmaxGrad_13 <axis = 0> (x, x)"},
    {"float[2, 3] x", "y = com.microsoft.LogSoftmaxGrad_13 <axis = 0> (x, x)"},
    {"float[2, 3] x, float r = {0.25}, bool t = {1}",
     "z, m = Dropout (x, r, t) y = com.microsoft.DropoutGrad (x, m, r, t)"},
    {"float[2, 3] x, bool[2, 3] m, float r = {0.25}",
     "y = com.microsoft.DropoutGrad <seed = 3> (x, m, r)"},
    {"float[2, 3] x", "z, m = com.microsoft.BitmaskDropout <seed = 1> (x) "
                      "y = com.microsoft.BitmaskDropoutGrad (x, m)"},
    {"float d, float[2, 3] x, int64[2] l, float[3] w",
     "y = com.microsoft.SoftmaxCrossEntropyLossGrad "
     "<ignore_index = 1, reduction = \"sum\"> (d, x, l, w)"},
    {"float[2, 3] x, int64[2] l, float[3] w, int64 i = {1}",
     "y, z = com.microsoft.SoftmaxCrossEntropyLossInternal "
     "<reduction = \"mean\", output_type = 1> (x, l, w, i)"},
    {"float d, float[2, 3] x, int64[2] l, float[3] w, int64 i = {1}",
     "y = com.microsoft.SoftmaxCrossEntropyLossInternalGrad "
     "<reduction = \"mean\", output_type = 1> (d, x, l, w, i, x)"},
    {"float[2, 3] x, int64[2] l, int64 i = {1}",
     "y = com.microsoft.NegativeLogLikelihoodLossInternal (x, l, , i)"},
    {"float[2, 3] x, int64[2] l",
     "y = com.microsoft.NegativeLogLikelihoodLossInternal2 (x, l)"},
    {"float[2, 3] x, float[3] s, float[2, 1] m",
     "y, b, c = com.microsoft.LayerNormalizationGrad <axis = 1, epsilon = 0.1, "
     "stash_type = 1> (x, x, s, m, m)"},
    {"float[2, 3] x, float[3] s",
     "y, r = SimplifiedLayerNormalization <axis = 1, epsilon = 0.1> (x, s)"},
    {"float[2, 3] x, float[3] s, float[2, 1] r",
     "y, b = com.microsoft.SimplifiedLayerNormalizationGrad <axis = 1> "
     "(x, x, s, r)"},
    {"float[2, 1, 2] x, float[1] s",
     "y, a, b, c, d = com.microsoft.BatchNormInternal <momentum = 0.5, "
     "epsilon = 0.1, training_mode = 1> (x, s, s, s, s)"},
    {"float[2, 1, 2] x, float[1] s",
     "y, a, b = com.microsoft.BatchNormalizationGrad <epsilon = 0.1> "
     "(x, x, s, s, s)"},
    {"float[1, 2, 2, 2] d, float[1, 2, 4, 4] x, float[2, 1, 3, 3] w",
     "y, a, b = com.microsoft.ConvGrad <group = 2, strides = [1, 1], "
     "dilations = [1, 1], pads = [0, 0, 0, 0], kernel_shape = [3, 3]> "
     "(d, x, w)"},
    {"float[1, 1, 3, 3] d, float[1, 2, 2, 2] x, float[2, 1, 2, 2] w",
     "y, a, b = com.microsoft.ConvTransposeGrad <strides = [1, 1], "
     "output_padding = [0, 0]> (d, x, w)"},
    {"float[1, 1, 2, 2] d, float[1, 1, 4, 4] x",
     "z, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) "
     "y = MaxPoolGrad <kernel_shape = [2, 2], strides = [2, 2]> (d, i)"},
    {"float[1, 1, 2, 2] d, int64[1, 1, 2, 2] i",
     "y = MaxPoolGrad <kernel_shape = [2, 2], strides = [2, 2], "
     "storage_order = 1> (d, i)",
     28, "<float[1, 1, 4, 4] y>"},
    {"float[1, 1, 2, 2] d",
     "y = AveragePoolGrad <kernel_shape = [2, 2], strides = [2, 2], "
     "pads = [0, 0, 0, 0], count_include_pad = 1> (d)",
     28, "<float[1, 1, 4, 4] y>"},
    {"float[1, 1, 4] d, float[1, 1, 2] x, float[3] s = {1, 1, 2}",
     "y = com.microsoft.ResizeGrad <mode = \"linear\"> (d, x, , s)"},
    {"float[2, 2] d, int64[2] s = {4, 2}, int64[2] i",
     "y = com.microsoft.GatherGrad <axis = 0> (s, i, d)"},
    {"float[2, 2] d, int64[2] s = {2, 4}, int64[2] i = {1, 2}",
     "y = com.microsoft.GatherGrad <axis = 1> (s, i, d)"},
    {"float[2, 2] d, int64[2] s = {2, 4}, int64[2, 2] i",
     "y = com.microsoft.GatherElementsGrad <axis = 1> (d, s, i)"},
    {"float[2] d, int64[2] s = {2, 4}, int64[2, 1] i",
     "y = com.microsoft.GatherNDGrad <batch_dims = 1> (s, i, d)"},
    {"float[2, 2] d, int64[2] s = {4, 5}, int64[2] b = {0, 3}, "
     "int64[2] e = {4, 1}, int64[2] a = {0, 1}, int64[2] t = {2, -1}",
     "y = com.microsoft.SliceGrad (d, s, b, e, a, t)"},
    {"float[2, 3] d, float[3] x", "y, z = com.microsoft.DivGrad (d, d, x)"},
    {"float[2, 3] x, int64[1] a = {1}",
     "y = com.microsoft.ReduceSumTraining <keepdims = 0> (x, a)"},
    {"float[2, 3] x, float[2, 1] z",
     "y, n = com.microsoft.ConcatTraining <axis = 1> (x, z)"},
    {"float[4, 2] x, int64[2] n = {1, 3}",
     "y, z = com.microsoft.SplitTraining <axis = 0> (x, n)"},
    {"int64[2] s = {2, 1}, int64[1] t = {3}",
     "y, z = com.microsoft.BroadcastGradientArgs (s, t)"},
    {"float[2] x, int64 s", "y = com.microsoft.Scale <scale_down = 1> (x, s)"},
    {"float[2] x", "y = com.microsoft.ScaledSum <scale_0 = 2.0, scale_1 = 3.0, "
                   "scale_2 = 4.0> (x, x, x)"},
    {"float[2] x",
     "y, z = com.microsoft.BatchScale <scale_0 = 2.0, scale_1 = 3.0> (x)"},
    {"float[2, 3, 4] x, float[2, 5, 4] w",
     "y = com.microsoft.FusedMatMul <alpha = 2.0, transA = 0, transB = 1, "
     "transBatchA = 0, transBatchB = 0> (x, w)"},
    {"float[2, 3] x, float[3, 2] w",
     "y = com.microsoft.FusedGemm <activation = \"LeakyRelu\", "
     "activation_alpha = 0.2> (x, w)"},
    {"float[2] x, float z", "y = com.microsoft.ReduceAllL2 (x, z)"},
    {"float[2] x", "y = com.microsoft.IsFinite (x)"},
    {"float[2] x, float z",
     "y = com.microsoft.IsAllFinite <isinf_only = 1> (x, z)"},
    {"bool[2] x", "y = com.microsoft.All (x)"},
    {"float[2] x, float z", "y, w = com.microsoft.PassThrough (x, z)"},
    {"float[7] x, int64[2] s = {2, 3}, int64[1] t = {1}",
     "y, z = com.microsoft.View (x, s, t)"},
    // Older forms.
    {"float[2, 3] x", "y = ReduceMax <axes = [1], keepdims = 0> (x)", 13},
    {"float[2, 3] x", "y = ReduceMean <axes = [1]> (x)", 13},
    {"float[4, 2] x", "y, z = Split <axis = 0> (x)", 13},
    {"float[1, 4, 1] x", "y = DFT <axis = 1, onesided = 1> (x)", 17},
    {"float[2, 4, 3] x, float[2] s, float[2] b",
     "y = GroupNormalization <num_groups = 2> (x, s, b)", 18},
    {"float[2, 1] x, float[1] s = {1}, float[1] b = {0}, float[1] m = {0}, "
     "float[1] v = {1}",
     "y, o, p, q, r = BatchNormalization (x, s, b, m, v)", 13},
    {"float[1, 1, 4, 4] x, float[2, 4] r, int64[2] b",
     "y = RoiAlign <output_height = 2, sampling_ratio = 2> (x, r, b)", 13},
    {"float[4, 5] x",
     "y = Slice <starts = [0, 1], ends = [4, 3], axes = [0, 1]> (x)", 9},
    {"float[4] x", "y = Clip <min = 0.0, max = 1.0> (x)", 9},
    {"float[4] x", "y = Pad <pads = [1, 2], mode = \"edge\"> (x)", 9},
    {"float[4] x", "y = Dropout <ratio = 0.5> (x)", 9},
    {"float[4] x", "y, z = TopK <k = 2, axis = 0> (x)", 9},
    {"float[1, 1, 2, 2] x, float[4] s = {1, 1, 2, 2}",
     "y = Upsample <mode = \"nearest\"> (x, s)", 9},
    {"float[2, 3, 4] x", "y = Softmax <axis = 1> (x)", 9},
    {"float[2, 1, 4] x", "y = Squeeze <axes = [1]> (x)", 9},
};

} // namespace mpc

#endif // MPC_TEST_COMPILER_IMPORT_NODES_H
