"""Rows of make_special_points.py: reductions, sorting, and elements by index."""
import torch
import torch.nn.functional as F

from row import INF, floats, ints, numbers, row

# Ties, zeros, one of each, infinities.
TIED = [[1, 1, -2], [0, -0.0, 0], [3, 3, 3], [-1, 2, 2]]
ZEROS = [[0, 2, 3], [0, 0, 3], [0, 0, 0], [1, 2, -3], [-0.0, 2, 1]]
AXIS = ints("a", [1])


def reduction(name, compute, values, op=None):
    op = op or name.partition("_")[0]
    row(name, {"x": values}, AXIS + f"z = {op} <keepdims = 0> (x, a)", lambda x: compute(x, 1))
    row(name + "All", {"x": values}, f"z = {op} <keepdims = 0> (x)", lambda x: compute(x, (0, 1)))


reduction("ReduceMax_ties", torch.amax, TIED)
reduction("ReduceMin_ties", torch.amin, TIED)
reduction("ReduceMax_infinite", torch.amax, [[-INF, -INF], [INF, 1], [-INF, 2]])
reduction("ReduceMin_infinite", torch.amin, [[INF, INF], [-INF, 1], [INF, 2]])
reduction("ReduceProd_zeros", lambda x, a: x.prod(1) if a == 1 else x.prod(), ZEROS)
reduction("ReduceL1_zeros", lambda x, a: torch.linalg.vector_norm(x, 1, a), ZEROS)
reduction("ReduceL2_zeros", lambda x, a: torch.linalg.vector_norm(x, 2, a), ZEROS)
reduction("ReduceSumSquare_zeros", lambda x, a: (x * x).sum(a), ZEROS)
reduction("ReduceLogSum_ones", lambda x, a: x.sum(a).log(), [[1, 0, 0], [0.5, 0.25, 0.25], [2, 0, -1]])
row("ReduceLogSum_zeros", {"x": [[0, 0], [1, -1]]}, AXIS + "z = ReduceLogSum <keepdims = 0> (x, a)",
    lambda x: x.sum(1).log())
EQUAL = [[0, 0, 0], [1, 1, 1], [1e4, 1e4, -1e4], [-INF, 0, 1]]
reduction("ReduceLogSumExp_equal", torch.logsumexp, EQUAL)
row("ReduceLogSumExp_infinite", {"x": [[-INF, -INF], [INF, 1], [0, -INF], [INF, INF]]},
    AXIS + "z = ReduceLogSumExp <keepdims = 0> (x, a)", lambda x: torch.logsumexp(x, 1))
row("ReduceLogSumExp_hidden", {"x": [[-INF, -INF], [0, 1]]},
    AXIS + "z = ReduceLogSumExp <keepdims = 0> (x, a)", lambda x: torch.logsumexp(x, 1))
for op, compute in {"ReduceL1": torch.abs, "ReduceL2": torch.abs, "ReduceSumSquare": lambda x: x * x,
                    "ReduceLogSum": torch.log, "ReduceLogSumExp": lambda x: x + 0}.items():
    values = [0, -0.0, 1, -2] if op != "ReduceLogSum" else [1, 2]
    row(op + "_nothing", {"x": values}, f"z = {op} <noop_with_empty_axes = 1> (x)", compute)
row("ReduceMean", {"x": TIED}, AXIS + "z = ReduceMean <keepdims = 0> (x, a)", lambda x: x.mean(1))
row("com.microsoft.ReduceAllL2_zeros", {"x": [0, 0], "y": [[0]]}, "z = com.microsoft.ReduceAllL2 (x, y)",
    lambda x, y: torch.linalg.vector_norm(torch.cat([x, y.flatten()])))
row("ReduceL2_ofDifference", {"x": [[1, 2], [3, 4]], "y": [[1, 2], [3, 3]]},
    AXIS + "d = Sub (x, y)\n z = ReduceL2 <keepdims = 0> (d, a)",
    lambda x, y: torch.linalg.vector_norm(x - y, dim=1))
# Cosine similarity as exported: products divided by norms with a minimum.
row("ReduceL2_cosine", {"x": [[0, 0], [3, 4], [1, 0]], "y": [[1, 2], [0, 0], [1, 0]]},
    AXIS + floats(e=1e-8) + "p = Mul (x, y)\n s = ReduceSum <keepdims = 0> (p, a)\n"
    "m = ReduceL2 <keepdims = 0> (x, a)\n n = ReduceL2 <keepdims = 0> (y, a)\n"
    "m0 = Max (m, e)\n n0 = Max (n, e)\n q = Mul (m0, n0)\n z = Div (s, q)",
    lambda x, y: (x * y).sum(1) / (torch.linalg.vector_norm(x, dim=1).clamp(min=1e-8)
                                   * torch.linalg.vector_norm(y, dim=1).clamp(min=1e-8)))
# F.normalize as exported.
row("ReduceL2_normalize", {"x": [[0, 0], [3, 4], [1, 0]]},
    AXIS + floats(e=1) + "m = ReduceL2 <keepdims = 1> (x, a)\n n = Clip (m, e)\n z = Div (x, n)",
    lambda x: x / torch.linalg.vector_norm(x, dim=1, keepdim=True).clamp_min(1))

# Sorting.
row("TopK_ties", {"x": [[1, 1, 0, 1], [2, 3, 3, 2], [0, -0.0, 0, 0]]}, ints("k", [2]) + "z, i = TopK (x, k)",
    lambda x: torch.gather(x, 1, torch.argsort(x, dim=1, descending=True, stable=True)[:, :2]))
row("TopK_smallest", {"x": [[1, 1, 0, 1], [2, 3, 3, 2], [0, -0.0, 0, 0]]},
    ints("k", [2]) + "z, i = TopK <largest = 0> (x, k)",
    lambda x: torch.gather(x, 1, torch.argsort(x, dim=1, stable=True)[:, :2]))
row("CumSum_zeros", {"x": [[0, -0.0, 1], [1, 0, 0]]}, ints("a", 1) + "z = CumSum (x, a)",
    lambda x: x.cumsum(1))
row("Trilu_infinite", {"x": [[1, INF], [2, 3]]}, "z = Trilu <upper = 0> (x)", torch.tril)
row("ReverseSequence", {"x": numbers(3, 2)}, ints("l", [1, 3]) + "z = ReverseSequence (x, l)",
    lambda x: torch.stack([x[:, 0], x[:, 1].flip(0)], 1))

# By index: the same element several times, from either end.
row("Gather_repeated", {"x": numbers(3, 2)}, ints("i", [0, 0, -1, 2, 0]) + "z = Gather (x, i)",
    lambda x: x[torch.tensor([0, 0, 2, 2, 0])])
row("Gather_columns", {"x": numbers(2, 3)}, ints("i", [2, 2, -3]) + "z = Gather <axis = 1> (x, i)",
    lambda x: x[:, [2, 2, 0]])
row("GatherElements_repeated", {"x": numbers(2, 3)},
    ints("i", [[0, 0, -1], [2, 2, -3]]) + "z = GatherElements <axis = 1> (x, i)",
    lambda x: torch.gather(x, 1, torch.tensor([[0, 0, 2], [2, 2, 0]])))
row("GatherND_repeated", {"x": numbers(2, 3)}, ints("i", [[0, 1], [0, 1], [-1, -1]]) + "z = GatherND (x, i)",
    lambda x: x[[0, 0, 1], [1, 1, 2]])
INDEX = [[0, 0, 1], [1, -1, 1]]
PLACES = torch.tensor([[0, 0, 1], [1, 1, 1]])
row("ScatterElements", {"x": numbers(2, 3), "u": numbers(2, 3, seed=2)},
    ints("i", [[0, 1, 0], [1, 0, 1]]) + "z = ScatterElements (x, i, u)",
    lambda x, u: x.scatter(0, torch.tensor([[0, 1, 0], [1, 0, 1]]), u))
row("ScatterElements_add", {"x": [[0, 1, 2], [3, 4, 5]], "u": [[1, 0, 2], [-1, 1, 5]]},
    ints("i", INDEX) + 'z = ScatterElements <reduction = "add"> (x, i, u)',
    lambda x, u: x.scatter_add(0, PLACES, u))
for kind, torchs in (("max", "amax"), ("min", "amin"), ("mul", "prod")):
    for what, x, u in (("ties", [[1, 1, 0], [2, 3, 5]], [[1, 0, 5], [2, 3, 5]]),
                       ("zeros", [[0, 1, 0], [2, 0, 3]], [[1, 0, 5], [0, 0, 0]])):
        row(f"ScatterElements_{kind}_{what}", {"x": x, "u": u},
            ints("i", INDEX) + f'z = ScatterElements <reduction = "{kind}"> (x, i, u)',
            lambda x, u, r=torchs: x.scatter_reduce(0, PLACES, u, r))
row("ScatterND_last", {"x": numbers(4), "u": numbers(2, seed=2)}, ints("i", [[1], [-1]]) + "z = ScatterND (x, i, u)",
    lambda x, u: x.scatter(0, torch.tensor([1, 3]), u))
for kind, torchs in (("add", "sum"), ("max", "amax"), ("min", "amin"), ("mul", "prod")):
    row(f"ScatterND_{kind}", {"x": [1, 0, 3, 0], "u": [1, 0, 1, 3]},
        ints("i", [[0], [1], [0], [-2]]) + f'z = ScatterND <reduction = "{kind}"> (x, i, u)',
        lambda x, u, r=torchs: x.scatter_reduce(0, torch.tensor([0, 1, 0, 2]), u, r))

# Elements that are used once, several times or not at all.
row("Expand", {"x": [[1], [2]]}, ints("s", [2, 3]) + "z = Expand (x, s)", lambda x: x.expand(2, 3))
row("Slice_backward", {"x": numbers(3, 4)}, ints("b", [-1]) + ints("e", [-9]) + ints("a", [1]) + ints("t", [-2])
    + "z = Slice (x, b, e, a, t)", lambda x: x.flip(1)[:, ::2])
for mode, torchs in (("edge", "replicate"), ("reflect", "reflect"), ("wrap", "circular")):
    row(f"Pad_{mode}", {"x": numbers(1, 1, 4)}, ints("p", [0, 0, 2, 0, 0, 3]) + f'z = Pad <mode = "{mode}"> (x, p)',
        lambda x, m=torchs: F.pad(x, (2, 3), m))
row("Pad_negative", {"x": numbers(2, 4)}, ints("p", [0, -1, 0, 2]) + "z = Pad (x, p)",
    lambda x: F.pad(x, (-1, 2)))
row("Tile", {"x": numbers(2, 2)}, ints("t", [2, 3]) + "z = Tile (x, t)", lambda x: x.repeat(2, 3))
row("Concat_self", {"x": numbers(2, 2)}, "z = Concat <axis = 0> (x, x)", lambda x: torch.cat([x, x]))
row("Split_unused", {"x": numbers(4)}, ints("s", [1, 3]) + "z, other = Split (x, s)", lambda x: x[:1])
row("Einsum_diagonal", {"x": numbers(3, 3)}, 'z = Einsum <equation = "ii->i"> (x)', torch.diagonal)
row("Einsum_zeros", {"x": [0, 1, -0.0], "y": [0, 0, 2]}, 'z = Einsum <equation = "i,i->"> (x, y)',
    lambda x, y: (x * y).sum())
