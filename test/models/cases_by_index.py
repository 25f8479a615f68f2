"""Rows of make_models.py: elements by index, windows of any rank, recurrent ops."""
import torch
import torch.nn.functional as F

from case import case

# Elements by index.
def ints(name, shape, values):
    return f"{name} = Constant <value = int64{shape} {{{', '.join(map(str, values))}}}> ()\n"


def index(shape, values):
    return torch.tensor(values).reshape(shape)


case("GatherElements", "x[3,4]",
     ints("i", "[3,2]", [0, 3, 1, 1, 2, 0]) + "y = GatherElements <axis = 1> (x, i)",
     lambda x: x.gather(1, index((3, 2), [0, 3, 1, 1, 2, 0])), opset=18)
case("GatherND", "x[4,3,17]",
     ints("i", "[3,2]", [0, 2, 3, 1, 0, 2]) + "y = GatherND (x, i)",
     lambda x: x[[0, 3, 0], [2, 1, 2]], opset=18)
case("ScatterElements", "x[3,4] u[3,2]",
     ints("i", "[3,2]", [0, 3, 1, 2, 2, 0]) + "y = ScatterElements <axis = 1> (x, i, u)",
     lambda x, u: x.scatter(1, index((3, 2), [0, 3, 1, 2, 2, 0]), u), opset=18)
case("ScatterElements_add", "x[3,4] u[2,4]",
     ints("i", "[2,4]", [0, 2, 1, 2, 0, 0, 1, 2])
     + 'y = ScatterElements <reduction = "add"> (x, i, u)',
     lambda x, u: x.scatter_add(0, index((2, 4), [0, 2, 1, 2, 0, 0, 1, 2]), u), opset=18)
for kind, torch_kind in {"max": "amax", "min": "amin", "mul": "prod"}.items():
    case(f"ScatterElements_{kind}", "x[3,4] u[3,4]",
         ints("i", "[3,4]", [0, 2, 1, 2, 0, 0, 1, 2, 0, 1, 0, 2])
         + f'y = ScatterElements <reduction = "{kind}"> (x, i, u)',
         lambda x, u, k=torch_kind: x.scatter_reduce(
             0, index((3, 4), [0, 2, 1, 2, 0, 0, 1, 2, 0, 1, 0, 2]), u, k), opset=18)
    # Each update occurs twice: equal extremes share the gradient.
    case(f"ScatterND_{kind}", "x[4,3] u[5,3]",
         ints("i", "[10,1]", [3, 1, 0, 0, 3] * 2) + "c = Concat <axis = 0> (u, u)\n"
         f' y = ScatterND <reduction = "{kind}"> (x, i, c)',
         lambda x, u, k=torch_kind: x.scatter_reduce(
             0, torch.tensor([3, 1, 0, 0, 3] * 2)[:, None].expand(-1, 3), torch.cat([u, u]), k),
         opset=18)
case("ScatterND", "x[4,3,2] u[2,3,2]",
     ints("i", "[2,1]", [3, 1]) + "y = ScatterND (x, i, u)",
     lambda x, u: x.index_put((torch.tensor([3, 1]),), u), opset=18)
REGIONS = ("r = Constant <value = float[3,4] {0.3, 0.9, 4.2, 3.1, -2.0, 1.0, 8.5, 4.6, 2.0, 2.5, "
           "2.4, 6.0}> ()\n" + ints("b", "[3]", [0, 1, 0]))
for name, attributes in {
        "average": "output_height = 2, output_width = 3, sampling_ratio = 2, spatial_scale = 0.9",
        "max": 'mode = "max", output_height = 2, output_width = 2, sampling_ratio = 1',
        "no_shift": 'coordinate_transformation_mode = "output_half_pixel", output_height = 3, '
                    "sampling_ratio = 3"}.items():
    case(f"RoiAlign_{name}", "x[2,3,5,6]", f"{REGIONS} y = RoiAlign <{attributes}> (x, r, b)")
case("TopK", "x[3,17]", "k = Constant <value_ints = [4]> ()\n y, i = TopK (x, k)",
     lambda x: x.topk(4).values, outputs="y i:int64")
case("TopK_smallest", "x[7,5]",
     "k = Constant <value_ints = [3]> ()\n y, i = TopK <axis = 0, largest = 0> (x, k)",
     lambda x: x.topk(3, 0, largest=False).values, outputs="y i:int64")
case("ArgMax", "x[3,17]", "y = Tanh (x)\n i = ArgMax <axis = 1, keepdims = 0> (x)\n"
     "j = ArgMin <axis = 0> (x)", torch.tanh, outputs="y i:int64 j:int64")
case("CumSum", "x[3,17]", "a = Constant <value_int = 1> ()\n y = CumSum (x, a)",
     lambda x: x.cumsum(1))
case("CumSum_blocks", "x[2,301]", "a = Constant <value_int = 1> ()\n y = CumSum (x, a)",
     lambda x: x.cumsum(1))
case("CumSum_blocks_outer", "x[131,3]",
     "a = Constant <value_int = 0> ()\n y = CumSum <reverse = 1> (x, a)",
     lambda x: x.flip(0).cumsum(0).flip(0))
case("Slice_steps", "x[7,17]",
     "b = Constant <value_ints = [6, 1]> ()\n e = Constant <value_ints = [-8, 17]> ()\n"
     "a = Constant <value_ints = [0, 1]> ()\n s = Constant <value_ints = [-2, 3]> ()\n"
     "y = Slice (x, b, e, a, s)", lambda x: x.flip(0)[::2, 1::3])
case("Pad_reflect", "x[2,3,5,4]",
     'p = Constant <value_ints = [0, 0, 2, 1, 0, 0, 1, 3]> ()\n y = Pad <mode = "reflect"> (x, p)',
     lambda x: F.pad(x, (1, 3, 2, 1), mode="reflect"))
case("Pad_edge", "x[2,3,5,4]",
     'p = Constant <value_ints = [0, 0, 2, 1, 0, 0, 1, 3]> ()\n y = Pad <mode = "edge"> (x, p)',
     lambda x: F.pad(x, (1, 3, 2, 1), mode="replicate"))
case("Tile", "x[3,5]", "r = Constant <value_ints = [2, 3]> ()\n y = Tile (x, r)",
     lambda x: x.tile(2, 3))
for name, options, function in [
    ("nearest", 'mode = "nearest", coordinate_transformation_mode = "asymmetric", '
     'nearest_mode = "floor"', dict(mode="nearest")),
    ("linear", 'mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"',
     dict(mode="bilinear")),
    ("align_corners", 'mode = "linear", coordinate_transformation_mode = "align_corners"',
     dict(mode="bilinear", align_corners=True)),
    ("cubic", 'mode = "cubic", coordinate_transformation_mode = "half_pixel"',
     dict(mode="bicubic")),
]:
    case(f"Resize_{name}", "x[2,3,5,6]",
         "z = Constant <value_ints = [2, 3, 7, 17]> ()\n" + f"y = Resize <{options}> (x, , , z)",
         lambda x, o=function: F.interpolate(x, (7, 17), **o), opset=18)
# Scales whose results are not integers: formulas use the rounded extent (6 for 6.5),
# which is computed in f32 (10 * 2.3 is 23).
for name, options, function in [
    ("align_corners", 'mode = "linear", coordinate_transformation_mode = "align_corners"',
     lambda x: F.interpolate(x, (6, 23), mode="bilinear", align_corners=True)),
    ("nearest_corners", 'mode = "nearest", coordinate_transformation_mode = "align_corners"', None),
    ("half_pixel", 'mode = "linear", coordinate_transformation_mode = "half_pixel"', None),
]:
    case(f"Resize_{name}_scales", "x[2,3,5,10]",
         "s = Constant <value_floats = [1.0, 1.0, 1.3, 2.3]> ()\n" + f"y = Resize <{options}> (x, , s)",
         function, opset=18)
case("Resize_to_one", "x[2,3,5,6]", "s = Constant <value_floats = [1.0, 1.0, 0.3, 0.3]> ()\n"
     'y = Resize <mode = "nearest", coordinate_transformation_mode = "pytorch_half_pixel"> (x, , s)',
     opset=18)
case("Resize_crop_scales", "x[2,3,5,6]",
     "s = Constant <value_floats = [1.0, 1.0, 1.3, 2.3]> ()\n"
     "r = Constant <value_floats = [0.0, 0.0, 0.1, 0.2, 1.0, 1.0, 0.8, 0.9]> ()\n"
     'y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, s)',
     opset=18)
case("Resize_antialias", "x[1,2,17,13]",
     "z = Constant <value_ints = [1, 2, 6, 5]> ()\n"
     'y = Resize <mode = "linear", antialias = 1, exclude_outside = 1> (x, , , z)',
     lambda x: F.interpolate(x, (6, 5), mode="bilinear", antialias=True), opset=18)
for mode in ("linear", "nearest", "cubic"):
    for padding in ("zeros", "border", "reflection"):
        torch_mode = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
        case(f"GridSample_{mode}_{padding}", "x[2,3,5,4] g[2,3,17,2]",
             f'y = GridSample <mode = "{mode}", padding_mode = "{padding}"> (x, g)',
             lambda x, g, m=torch_mode, p=padding:
             F.grid_sample(x, g, mode=m, padding_mode=p, align_corners=False), opset=20)
case("DepthToSpace", "x[2,12,3,4]",
     'y = DepthToSpace <blocksize = 2, mode = "CRD"> (x)', lambda x: F.pixel_shuffle(x, 2))
case("Einsum_attention", "q[2,3,4,5] k[2,6,4,5]",
     'y = Einsum <equation = "bqhd,bkhd->bhqk"> (q, k)',
     lambda q, k: torch.einsum("bqhd,bkhd->bhqk", q, k))
case("Einsum_chain", "a[3,4] b[4,17] c[17,2]",
     'y = Einsum <equation = "ab,bc,cd->da"> (a, b, c)',
     lambda a, b, c: torch.einsum("ab,bc,cd->da", a, b, c))
case("Pow_fraction", "x[3,17]", "s = Softplus (x)\n e = Constant <value_float = 1.3> ()\n"
     "y = Pow (s, e)", lambda x: F.softplus(x) ** 1.3)
case("ReduceProd", "x[3,4]", "a = Constant <value_ints = [1]> ()\n"
     "y = ReduceProd <keepdims = 0> (x, a)", lambda x: x.prod(1), opset=18)

# Windows of any rank.
case("Conv_3d", "x[2,4,4,5,6] w[6,2,2,3,2] b[6]",
     "y = Conv <group = 2, strides = [1, 2, 1], pads = [1, 1, 0, 1, 1, 0]> (x, w, b)",
     lambda x, w, b: F.conv3d(x, w, b, (1, 2, 1), (1, 1, 0), groups=2))
case("ConvTranspose", "x[2,4,5,3] w[4,3,3,2] b[6]",
     "y = ConvTranspose <group = 2, strides = [2, 1], pads = [1, 0, 1, 0], "
     "output_padding = [1, 0]> (x, w, b)",
     lambda x, w, b: F.conv_transpose2d(x, w, b, (2, 1), (1, 0), (1, 0), groups=2))
case("ConvTranspose_1d", "x[2,3,7] w[3,2,3]", "y = ConvTranspose <strides = [2]> (x, w)",
     lambda x, w: F.conv_transpose1d(x, w, stride=2))
case("ConvTranspose_3d", "x[1,2,3,2,4] w[2,3,2,2,3] b[3]",
     "y = ConvTranspose <strides = [2, 1, 2]> (x, w, b)",
     lambda x, w, b: F.conv_transpose3d(x, w, b, (2, 1, 2)))
case("MaxPool_3d", "x[2,3,4,5,6]",
     "y = MaxPool <kernel_shape = [2, 3, 2], strides = [2, 1, 2], pads = [0, 1, 0, 0, 1, 0]> (x)",
     lambda x: F.max_pool3d(x, (2, 3, 2), (2, 1, 2), (0, 1, 0)))
case("MaxPool_indices", "x[2,3,6,7]",
     "y, i = MaxPool <kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 0]> (x)",
     lambda x: F.max_pool2d(x, (3, 2), (2, 1), (1, 0)), outputs="y i:int64")
case("AveragePool_3d", "x[2,3,4,5,6]",
     "y = AveragePool <kernel_shape = [2, 3, 2], pads = [0, 1, 1, 0, 1, 1]> (x)",
     lambda x: F.avg_pool3d(x, (2, 3, 2), 1, (0, 1, 1), count_include_pad=False))
case("AveragePool_ceil_padded", "x[2,3,5,6]",
     "y = AveragePool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 1, 1, 1], "
     "ceil_mode = 1, count_include_pad = 1> (x)",
     lambda x: F.avg_pool2d(x, (3, 2), 2, 1, ceil_mode=True), opset=19)
case("GlobalMaxPool", "x[2,3,5,4]", "y = GlobalMaxPool (x)",
     lambda x: F.adaptive_max_pool2d(x, 1))
case("InstanceNormalization", "x[2,3,5,4] s[3] b[3]", "y = InstanceNormalization (x, s, b)",
     lambda x, s, b: F.instance_norm(x, weight=s, bias=b))
case("GroupNormalization", "x[2,6,5,4] s[6] b[6]",
     "y = GroupNormalization <num_groups = 3> (x, s, b)",
     lambda x, s, b: F.group_norm(x, 3, s, b), opset=21)
case("LRN", "x[2,7,3,4]", "y = LRN <size = 3, alpha = 0.5, beta = 0.75, bias = 1.5> (x)",
     lambda x: F.local_response_norm(x, 3, 0.5, 0.75, 1.5))
case("LpNormalization", "x[5,17]", "y = LpNormalization (x)", lambda x: F.normalize(x))


# Recurrent ops: the gates are i f g o and r z n in PyTorch, i o f c and z r h in ONNX.
def recurrent(kind, order, x, w, r, b=None):
    features, hidden = w.shape[-1], r.shape[-1]
    parts = [w, r] if b is None else [w, r, *b.chunk(2, -1)]
    parts = [torch.cat([p.chunk(len(order), 1)[i] for i in order], 1) for p in parts]
    flat = [p[d] for d in range(w.shape[0]) for p in parts]
    module = getattr(torch.nn, kind)(features, hidden, bias=b is not None,
                                     bidirectional=w.shape[0] == 2).to(x.dtype)
    names = [name for name, _ in module.named_parameters()]
    y, _ = torch.func.functional_call(module, dict(zip(names, flat)), (x,))
    return y.reshape(*x.shape[:2], w.shape[0], hidden).transpose(1, 2)


case("LSTM", "x[4,3,2] w[1,20,2] r[1,20,5] b[1,40]", "y = LSTM <hidden_size = 5> (x, w, r, b)",
     lambda x, w, r, b: recurrent("LSTM", (0, 2, 3, 1), x, w, r, b))
case("LSTM_both", "x[4,3,2] w[2,20,2] r[2,20,5]",
     'y = LSTM <hidden_size = 5, direction = "bidirectional"> (x, w, r)',
     lambda x, w, r: recurrent("LSTM", (0, 2, 3, 1), x, w, r))
case("GRU", "x[4,3,2] w[1,15,2] r[1,15,5] b[1,30]",
     "y = GRU <hidden_size = 5, linear_before_reset = 1> (x, w, r, b)",
     lambda x, w, r, b: recurrent("GRU", (1, 0, 2), x, w, r, b))
case("RNN", "x[4,3,2] w[2,5,2] r[2,5,5] b[2,10]",
     'y = RNN <hidden_size = 5, direction = "bidirectional"> (x, w, r, b)',
     lambda x, w, r, b: recurrent("RNN", (0,), x, w, r, b))
