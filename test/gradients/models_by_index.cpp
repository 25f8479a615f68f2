//===- models_by_index.cpp - Ops that read at computed positions ----------===//
//
// Gathers, resampling, windows of any rank, sorting, and recurrent ops.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/models.h"

namespace mpc::test {

const std::vector<Model> &modelsByIndex() {
  static const std::vector<Model> table = {
      // Elements by index.
      {"GatherElements_inner", "x[3,4]",
       "i = Constant <value = int64[3,2] {0, 3, 1, 1, -1, 0}> ()\n"
       " y = GatherElements <axis = 1> (x, i)",
       "3,2"},
      {"GatherElements_outer", "x[4,3,2]",
       "i = Constant <value = int64[2,3,1] {0, 3, 3, 2, -4, 3}> ()\n"
       " y = GatherElements (x, i)",
       "2,3,1"},
      {"GatherND_elements", "x[3,4]",
       "i = Constant <value = int64[5,2] {0, 3, 2, 1, 0, 3, -1, -1, 1, 0}> ()\n"
       " y = GatherND (x, i)",
       "5"},
      {"GatherND_rows", "x[2,3,20]",
       "i = Constant <value = int64[4,2] {0, 2, 1, 1, 0, 2, 1, 0}> ()\n"
       " y = GatherND (x, i)",
       "4,20"},
      {"GatherND_batch", "x[2,4,3]",
       "i = Constant <value = int64[2,3,1] {0, 3, 1, 2, 2, -1}> ()\n"
       " y = GatherND <batch_dims = 1> (x, i)",
       "2,3,3"},
      {"ScatterElements_inner", "x[3,4] u[3,2]",
       "i = Constant <value = int64[3,2] {0, 3, 1, 2, -1, 0}> ()\n"
       " y = ScatterElements <axis = 1> (x, i, u)",
       "3,4"},
      {"ScatterElements_add", "x[3,4] u[2,4]",
       "i = Constant <value = int64[2,4] {0, 2, 1, 2, 0, 0, 1, -1}> ()\n"
       " y = ScatterElements <reduction = \"add\"> (x, i, u)",
       "3,4"},
      {"ScatterElements_max",
       "x[3,4] u[4,4]",
       "i = Constant <value = int64[4,4]"
       " {0, 2, 1, 2, 0, 0, 1, -1, 2, 2, 2, 2, 0, 1, 0, 0}> ()\n"
       " y = ScatterElements <reduction = \"max\"> (x, i, u)",
       "3,4",
       {},
       {},
       nullptr,
       -1,
       1,
       18},
      {"ScatterElements_mul",
       "x[4,3] u[4,2]",
       "i = Constant <value = int64[4,2] {0, 0, 2, 1, -1, 2, 1, 1}> ()\n"
       " y = ScatterElements <axis = 1, reduction = \"mul\"> (x, i, u)",
       "4,3",
       {},
       {},
       nullptr,
       -1,
       1,
       18},
      // The first product has one factor 0, the last one has two.
      {"ScatterND_mulZeros",
       "x[3] u[5]",
       "i = Constant <value = int64[5,1] {0, 0, 1, 2, 2}> ()\n"
       " f = Constant <value_floats = [1.0, 0.0, 1.0, 0.0, 0.0]> ()\n"
       " g = Mul (u, f)\n"
       " y = ScatterND <reduction = \"mul\"> (x, i, g)",
       "3",
       {},
       {},
       nullptr,
       -1,
       1,
       18},
      {"ScatterND_min",
       "x[4,3] u[5,3]",
       "i = Constant <value = int64[5,1] {0, 3, 3, 0, 3}> ()\n"
       " y = ScatterND <reduction = \"min\"> (x, i, u)",
       "4,3",
       {},
       {},
       nullptr,
       -1,
       1,
       18},
      {"ScatterND_rows", "x[4,3,2] u[2,3,2]",
       "i = Constant <value = int64[2,1] {3, 1}> ()\n y = ScatterND (x, i, u)",
       "4,3,2"},
      {"ScatterND_add", "x[4,3] u[5]",
       "i = Constant <value = int64[5,2] {0, 1, 3, 2, 0, 1, 1, 0, 3, 2}> ()\n"
       " y = ScatterND <reduction = \"add\"> (x, i, u)",
       "4,3"},
      {"TopK_largest", "x[3,5]",
       "k = Constant <value_ints = [2]> ()\n y, i = TopK (x, k)", "3,2"},
      {"TopK_smallest", "x[5,2,3]",
       "k = Constant <value_ints = [3]> ()\n"
       " y, i = TopK <axis = 0, largest = 0> (x, k)",
       "3,2,3"},
      {"ReverseSequence_lengths", "x[4,3,2]",
       "n = Constant <value_ints = [3, 4, 1]> ()\n y = ReverseSequence (x, n)",
       "4,3,2"},
      {"RoiAlign_average", "x[2,3,5,6]",
       "r = Constant <value = float[3,4] {0.3, 0.9, 4.2, 3.1, -2.0, 1.0, 8.5,"
       " 4.6, 2.0, 2.5, 2.4, 6.0}> ()\n"
       " b = Constant <value_ints = [0, 1, 0]> ()\n"
       " y = RoiAlign <output_height = 2, output_width = 3,"
       " sampling_ratio = 2, spatial_scale = 0.9> (x, r, b)",
       "3,3,2,3"},
      {"CumSum_inner", "x[3,5]",
       "a = Constant <value_int = 1> ()\n y = CumSum (x, a)", "3,5"},
      {"CumSum_reverse", "x[5,3]",
       "a = Constant <value_int = 0> ()\n"
       " y = CumSum <reverse = 1, exclusive = 1> (x, a)",
       "5,3"},
      {"CumSum_blocks", "x[1,150]",
       "a = Constant <value_int = 1> ()\n y = CumSum <exclusive = 1> (x, a)\n",
       "1,150"},
      {"Slice_steps", "x[7,5]",
       "b = Constant <value_ints = [1, 4]> ()\n e = Constant <value_ints = [7, "
       "-6]> ()\n a = Constant <value_ints = [0, 1]> ()\n"
       " s = Constant <value_ints = [2, -1]> ()\n y = Slice (x, b, e, a, s)\n",
       "3,5"},
      {"Pad_reflect", "x[2,5,4]",
       "p = Constant <value_ints = [0, 2, 1, 0, 3, 2]> ()\n"
       " y = Pad <mode = \"reflect\"> (x, p)",
       "2,10,7"},
      {"Pad_edge", "x[3,4]",
       "p = Constant <value_ints = [2, 0, 1, 3]> ()\n"
       " y = Pad <mode = \"edge\"> (x, p)",
       "6,7"},
      {"Pad_wrap", "x[3,4]",
       "p = Constant <value_ints = [2, 1, 1, 3]> ()\n"
       " y = Pad <mode = \"wrap\"> (x, p)",
       "6,8"},
      {"Tile_both", "x[2,3]",
       "r = Constant <value_ints = [3, 2]> ()\n y = Tile (x, r)", "6,6"},
      {"DepthToSpace_both", "x[1,8,2,3]",
       "a = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x)\n"
       " b = DepthToSpace <blocksize = 2> (x)\n y = Mul (a, b)",
       "1,2,4,6"},
      {"Resize_linear", "x[1,2,3,4]",
       "s = Constant <value_floats = [1.0, 1.0, 2.0, 1.5]> ()\n"
       " y = Resize <mode = \"linear\"> (x, , s)",
       "1,2,6,6"},
      {"Resize_cubic", "x[1,2,4,3]",
       "z = Constant <value_ints = [1, 2, 7, 5]> ()\n"
       " y = Resize <mode = \"cubic\", exclude_outside = 1> (x, , , z)",
       "1,2,7,5"},
      {"Resize_antialias", "x[1,1,9,8]",
       "z = Constant <value_ints = [1, 1, 4, 3]> ()\n"
       " y = Resize <mode = \"linear\", antialias = 1> (x, , , z)",
       "1,1,4,3"},
      {"Resize_nearest", "x[2,3,5]",
       "s = Constant <value_floats = [1.0, 1.0, 2.6]> ()\n"
       " y = Resize <mode = \"nearest\", nearest_mode = \"floor\", "
       "coordinate_transformation_mode = \"asymmetric\"> (x, , s)",
       "2,3,13"},
      {"GridSample_linear", "x[2,3,5,4] g[2,3,3,2]:-0.83..0.79",
       "y = GridSample (x, g)", "2,3,3,3"},
      {"GridSample_cubic", "x[1,2,5,6] g[1,3,2,2]:-0.9..0.87",
       "y = GridSample <mode = \"cubic\", padding_mode = \"border\", "
       "align_corners = 1> (x, g)",
       "1,2,3,2"},
      {"GridSample_volume", "x[1,2,3,4,3] g[1,2,2,2,3]:-0.6..0.55",
       "y = GridSample <padding_mode = \"reflection\"> (x, g)", "1,2,2,2,2"},
      {"AffineGrid_plane", "t[2,2,3]",
       "z = Constant <value_ints = [2, 1, 3, 4]> ()\n y = AffineGrid (t, z)",
       "2,3,4,2"},
      {"DFT_real", "x[2,7,1]",
       "n = Constant <value_int = 7> ()\n a = Constant <value_int = 1> ()\n"
       " y = DFT <onesided = 1> (x, n, a)",
       "2,4,2"},
      {"DFT_complex", "x[2,6,2]",
       "n = Constant <value_int = 5> ()\n a = Constant <value_int = 1> ()\n"
       " y = DFT <inverse = 1> (x, n, a)",
       "2,5,2"},
      {"Trilu_lower", "x[2,4,5]",
       "k = Constant <value_int = 1> ()\n y = Trilu <upper = 0> (x, k)\n",
       "2,4,5"},
      {"Sequence_split", "x[3,6]",
       "n = Constant <value_int = 2> ()\n i = Constant <value_int = 2> ()\n"
       " j = Constant <value_int = 0> ()\n"
       " s = SplitToSequence <axis = 1> (x, n)\n a = SequenceAt (s, i)\n"
       " b = SequenceAt (s, j)\n c = Mul (a, b)\n"
       " d = ConcatFromSequence <axis = 1> (s)\n y = Concat <axis = 1> (c, d)",
       "3,8"},
      {"Einsum_matrices", "a[3,4] b[4,5]",
       "y = Einsum <equation = \"ij,jk->ik\"> (a, b)", "3,5"},
      {"Einsum_attention", "a[2,3,4,5] b[2,6,4,5]",
       "y = Einsum <equation = \"bqhd,bkhd->bhqk\"> (a, b)", "2,4,3,6"},
      {"Einsum_ellipsis", "a[2,3,4] b[4,5]",
       "y = Einsum <equation = \"...i,ij->...j\"> (a, b)", "2,3,5"},
      {"Einsum_three", "a[3,4] b[4,5] c[5,2]",
       "y = Einsum <equation = \"ab,bc,cd->da\"> (a, b, c)", "2,3"},
      {"Einsum_diagonal", "a[3,3,4]", "y = Einsum <equation = \"iij->j\"> (a)",
       "4"},
      {"Einsum_outer", "a[3] b[4]", "y = Einsum <equation = \"i,j\"> (a, b)",
       "3,4"},
      {"Pow_fraction", "x[5]:0.5..2",
       "e = Constant <value_float = 0.3> ()\n y = Pow (x, e)", "5"},
      // An operand that is not selected gets no gradient, even if its gradient
      // would be infinite.
      {"Clip_beforeRoot", "x[2,3]:0.5..2",
       "m = Constant <value = float[2,3] {1, -1, 1, 1, -1, 1}> () "
       "n = Constant <value = float {0}> () "
       "z = Mul (x, m) p = Clip (z, n) y = Sqrt (p)",
       "2,3"},
      {"HardSigmoid_beforeRoot", "x[2,3]:0.1..2",
       "m = Constant <value = float[2,3] {1, -3, 1, 1, -3, 1}> () "
       "o = Constant <value = float[2,3] {0, -2.6, 0, 0, -2.6, 0}> () "
       "z = Mul (x, m) s = Add (z, o) p = HardSigmoid (s) y = Sqrt (p)",
       "2,3"},
      // Max with a number is PyTorch's clamp: at the bound, all of the gradient
      // passes.
      {"Max_number", "x[2,3]:-1..1~0.25",
       "n = Constant <value = float {0.25}> () y = Max (x, n)", "2,3"},
      // Norms with computed statistics.
      {"BatchNormalization_computed", "x[4,3,2] s[3] b[3]",
       "a = Constant <value = int64[2] {0, 2}> () "
       "m = ReduceMean <keepdims = 0> (x, a) q = Mul (x, x) "
       "v = ReduceMean <keepdims = 0> (q, a) "
       "y = BatchNormalization (x, s, b, m, v)",
       "4,3,2"},
      {"BatchNormalization_ofTheBatch", "x[4,3,2] s[3] b[3]",
       "a = Constant <value = int64[2] {0, 2}> () "
       "m = ReduceMean <keepdims = 0> (x, a) v = Add (m, b) "
       "y = BatchNormalization <training_mode = 1> (x, s, b, m, v)",
       "4,3,2"},
      // At 0 the gradient of x sqrt(x) is 0, although sqrt has none.
      {"Pow_halvesAtZero", "x[2,3]:0.5..2",
       "m = Constant <value = float[2,3] {1, 0, 1, 0, 1, 1}> () "
       "z = Mul (x, m) h = Constant <value = float {1.5}> () y = Pow (z, h)",
       "2,3"},
      {"Pow_tensors", "x[4]:0.5..2 e[3,1]:-1.5..1.5", "y = Pow (x, e)", "3,4"},
      {"Mod_float", "x[5]:2.6..2.9 d[5]:1.5..1.9", "y = Mod <fmod = 1> (x, d)",
       "5"},
      {"ReduceProd_inner", "x[3,4]:0.5..1.5",
       "a = Constant <value_ints = [1]> ()\n"
       " y = ReduceProd <keepdims = 0> (x, a)",
       "3"},
      {"ReduceProd_outer", "x[3,2,4]:0.5..1.5",
       "a = Constant <value_ints = [0, 2]> ()\n y = ReduceProd (x, a)",
       "1,2,1"},

      // Windows of any rank.
      {"Conv_threeDimensions", "x[2,4,4,5,3] w[6,2,2,3,2]:-0.3..0.3 b[6]",
       "y = Conv <group = 2, strides = [1, 2, 1], pads = [1, 0, 0, 0, 1, 1]> "
       "(x, w, b)",
       "2,6,4,2,3"},
      {"ConvTranspose_plain", "x[2,3,4,3] w[3,2,3,2] b[2]",
       "y = ConvTranspose (x, w, b)", "2,2,6,4"},
      {"ConvTranspose_strides", "x[1,4,3,4] w[4,3,3,3] b[6]",
       "y = ConvTranspose <group = 2, strides = [2, 3], pads = [1, 0, 0, 2], "
       "output_padding = [1, 0]> (x, w, b)",
       "1,6,7,10"},
      {"ConvTranspose_oneDimension", "x[2,3,5] w[3,2,3]",
       "y = ConvTranspose <strides = [2], dilations = [2]> (x, w)", "2,2,13"},
      {"ConvTranspose_threeDimensions", "x[1,2,3,2,2] w[2,3,2,2,3] b[3]",
       "y = ConvTranspose <strides = [2, 1, 2]> (x, w, b)", "1,3,6,3,5"},
      {"Col2Im_overlap", "x[1,8,6]",
       "i = Constant <value_ints = [3, 4]> ()\n"
       " k = Constant <value_ints = [2, 2]> ()\n y = Col2Im (x, i, k)",
       "1,2,3,4"},
      {"MaxPool_threeDimensions", "x[1,2,4,3,5]",
       "y = MaxPool <kernel_shape = [2, 2, 3], strides = [2, 1, 1], pads = [0, "
       "1, 0, 0, 0, 1]> (x)",
       "1,2,2,3,4"},
      {"MaxPool_largeWindow", "x[1,2,17,17]",
       "y = MaxPool <kernel_shape = [16, 16]> (x)", "1,2,2,2"},
      {"AveragePool_threeDimensions", "x[1,2,4,3,5]",
       "y = AveragePool <kernel_shape = [2, 2, 3], pads = [0, 1, 1, 0, 0, 1]> "
       "(x)",
       "1,2,3,3,5"},
      {"AveragePool_ceilWithPads", "x[1,2,5,6]",
       "y = AveragePool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, "
       "1, "
       "1, 1], ceil_mode = 1, count_include_pad = 1> (x)",
       "1,2,3,4"},
      {"LpPool_zeros", "x[1,2,4]",
       "m = Constant <value = float[4] {0, 0, 1, 1}> () z = Mul (x, m) "
       "y = LpPool <kernel_shape = [2], strides = [2]> (z)",
       "1,2,2"},
      {"GlobalLpPool_zeros", "x[1,2,4]",
       "m = Constant <value = float[2,1] {0, 1}> () z = Mul (x, m) "
       "y = GlobalLpPool (z)",
       "1,2,1"},
      {"MeanVarianceNormalization_constant", "x[2,2,3]",
       "m = Constant <value = float[2,1] {0, 1}> () z = Mul (x, m) "
       "y = MeanVarianceNormalization <axes = [0, 2]> (z)",
       "2,2,3"},
      {"LpPool_two", "x[1,2,5,4]",
       "y = LpPool <kernel_shape = [2, 3], strides = [2, 1]> (x)", "1,2,2,2"},
      {"LpPool_three", "x[1,2,7]:0.25..1",
       "y = LpPool <kernel_shape = [3], p = 3> (x)", "1,2,5"},
      {"GlobalMaxPool_plane", "x[2,3,4,5]", "y = GlobalMaxPool (x)", "2,3,1,1"},
      {"GlobalLpPool_plane", "x[2,3,4]", "y = GlobalLpPool (x)", "2,3,1"},
      {"InstanceNormalization_plane", "x[2,3,4,5] s[3] b[3]",
       "y = InstanceNormalization (x, s, b)", "2,3,4,5"},
      {"GroupNormalization_channels", "x[2,6,3,4] s[6] b[6]",
       "y = GroupNormalization <num_groups = 2> (x, s, b)", "2,6,3,4"},
      {"LRN_plain", "x[2,5,3,2]",
       "y = LRN <size = 3, alpha = 0.5, bias = 1.5> (x)", "2,5,3,2"},
      {"LpNormalization_two", "x[3,4]", "y = LpNormalization (x)", "3,4"},
      {"LpNormalization_one", "x[3,4]:0.25..1",
       "y = LpNormalization <p = 1, axis = 0> (x)", "3,4"},
      {"MeanVarianceNormalization_plane", "x[3,2,4,3]",
       "y = MeanVarianceNormalization (x)", "3,2,4,3"},

      // Recurrent.
      {"RNN_bidirectional", "x[4,3,2] w[2,5,2] r[2,5,5] b[2,10] h[2,3,5]",
       "y = RNN <direction = \"bidirectional\"> (x, w, r, b, , h)", "4,2,3,5"},
      {"LSTM_plain", "x[4,3,2] w[1,20,2] r[1,20,5] b[1,40]",
       "y = LSTM (x, w, r, b)", "4,1,3,5"},
      {"LSTM_peepholes",
       "x[3,2,4] w[1,12,4] r[1,12,3] b[1,24] h[1,2,3] c[1,2,3] p[1,9]",
       "l = Constant <value = int32[2] {3, 2}> ()\n"
       " y = LSTM <direction = \"reverse\"> (x, w, r, b, l, h, c, p)",
       "3,1,2,3"},
      {"LSTM_layout", "x[3,4,2] w[2,12,2] r[2,12,3]",
       "a, b, c = LSTM <direction = \"bidirectional\", layout = 1> (x, w, r)\n"
       " y = Mul (b, c)",
       "3,2,3"},
      {"GRU_plain", "x[4,3,2] w[1,15,2] r[1,15,5] b[1,30]",
       "y = GRU (x, w, r, b)", "4,1,3,5"},
      {"GRU_linearBeforeReset", "x[4,3,2] w[1,15,2] r[1,15,5] b[1,30] h[1,3,5]",
       "a, y = GRU <linear_before_reset = 1> (x, w, r, b, , h)", "1,3,5"},
  };
  return table;
}

} // namespace mpc::test
