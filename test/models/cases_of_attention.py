"""Rows of make_models.py: all forms of attention, and ops that precede it."""
import torch
import torch.nn.functional as F

from case import CASES, case

# Attention: unmasked, with a causal mask for each shape, and in other forms.
def attention(name, tensors, body, function=None, attributes=""):
    case(f"Attention_{name}", tensors, body.replace("Attention", f"Attention <{attributes}>", 1)
         if attributes else body, function, opset=23)


SDPA = F.scaled_dot_product_attention
KEY, VALUE = "k[2,3,5,8]", "v[2,3,5,6]"
attention("query", f"x[2,3,7,8] {KEY} {VALUE}", "y = Attention (x, k, v)", SDPA)
attention("key", f"x[2,3,5,8] q[2,3,7,8] {VALUE}", "y = Attention (q, x, v)",
          lambda x, q, v: SDPA(q, x, v))
attention("value", f"x[2,3,5,6] q[2,3,7,8] {KEY}", "y = Attention (q, k, x)",
          lambda x, q, k: SDPA(q, k, x))
attention("itself", "x[2,2,9,4]", "y = Attention (x, x, x)",
          lambda x: SDPA(x, x, x, is_causal=True), "is_causal = 1")
for name, length in {"longer": 9, "shorter": 3}.items():
    attention(f"causal_{name}", f"x[2,3,{length},8] {KEY} {VALUE}", "y = Attention (x, k, v)",
              lambda x, k, v: SDPA(x, k, v, is_causal=True, scale=0.5),
              "is_causal = 1, scale = 0.5")
attention("groups", "x[2,6,7,8] k[2,2,5,8] v[2,2,5,6]", "y = Attention (x, k, v)",
          lambda x, k, v: SDPA(x, k, v, enable_gqa=True))
attention("one_group", "x[2,4,7,8] k[2,1,7,8] v[2,1,7,8]", "y = Attention (x, k, v)",
          lambda x, k, v: SDPA(x, k, v, is_causal=True, enable_gqa=True), "is_causal = 1")


def joined(heads, key_heads, **options):
    """SDPA of [batch, length, heads x depth]."""
    def split(t, heads):
        return t.unflatten(2, (heads, -1)).transpose(1, 2)
    return lambda q, k, v: SDPA(split(q, heads), split(k, key_heads), split(v, key_heads),
                                **options).transpose(1, 2).flatten(2)


attention("joined", "x[2,7,12] k[2,5,12] v[2,5,6]", "y = Attention (x, k, v)", joined(3, 3),
          "q_num_heads = 3, kv_num_heads = 3")
attention("joined_groups", "x[2,7,16] k[2,7,8] v[2,7,4]", "y = Attention (x, k, v)",
          joined(4, 2, is_causal=True, enable_gqa=True),
          "q_num_heads = 4, kv_num_heads = 2, is_causal = 1")
attention("mask", f"x[2,3,7,8] {KEY} {VALUE} m[7,5]", "y = Attention (x, k, v, m)",
          lambda x, k, v, m: SDPA(x, k, v, m))
SEEN = [[1, 0, 0, 1, 1], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]]
attention("mask_of_truth", f"x[2,3,3,8] {KEY} {VALUE}",
     f"b = Constant <value = bool[3,5] {{{', '.join(str(s) for row in SEEN for s in row)}}}> ()\n"
     "y = Attention (x, k, v, b)",
     lambda x, k, v: SDPA(x, k, v, torch.tensor(SEEN, dtype=torch.bool)))
EMPTY = [[1, 0, 0, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]
attention("empty_row", f"x[2,3,3,8] {KEY} {VALUE}",
     f"b = Constant <value = bool[3,5] {{{', '.join(str(s) for row in EMPTY for s in row)}}}> ()\n"
     "y = Attention (x, k, v, b)",
     lambda x, k, v: SDPA(x, k, v, torch.tensor(EMPTY, dtype=torch.bool)))
attention("mask_groups", "x[2,6,5,8] k[2,2,5,8] v[2,2,5,6] m[2,1,5,5]",
          "y = Attention (x, k, v, m)",
          lambda x, k, v, m: SDPA(x, k, v, m + torch.full((5, 5), -torch.inf).triu(1),
                                  enable_gqa=True), "is_causal = 1")
attention("softcap", f"x[2,3,7,8] {KEY} {VALUE}", "y = Attention (x, k, v)",
          lambda x, k, v: torch.softmax(
              2 * torch.tanh(x @ k.mT / 8**0.5 / 2), -1) @ v, "softcap = 2.0")


def windowed(rows, columns, left=None, right=None, first=0):
    """0 if query i, whose own key is number first + i, sees a key; otherwise -inf."""
    ahead = torch.arange(columns) - torch.arange(rows)[:, None] - first
    seen = torch.ones_like(ahead, dtype=torch.bool)
    seen &= ahead <= (columns if right is None else right)
    seen &= -ahead <= (columns + rows if left is None else left)
    return torch.zeros(rows, columns).masked_fill(~seen, -torch.inf)


# Keys of earlier calls come first, and causal queries come after them.
attention("past", f"x[2,3,5,8] k[2,3,5,8] {VALUE} pk[2,3,4,8] pv[2,3,4,6]",
          "y, kk, vv = Attention (x, k, v,, pk, pv)",
          lambda x, k, v, pk, pv: SDPA(x, torch.cat([pk, k], 2), torch.cat([pv, v], 2),
                                       windowed(5, 9, right=0, first=4)), "is_causal = 1")
attention("past_joined", "x[2,3,16] k[2,3,8] v[2,3,4] pk[2,2,4,4] pv[2,2,4,2] m[3,7]",
          "y, kk, vv = Attention (x, k, v, m, pk, pv)", None, "q_num_heads = 4, kv_num_heads = 2")
for mode in range(4):
    attention(f"scores_{mode}", f"x[2,3,5,8] {KEY} {VALUE} m[5,5]",
              "y, kk, vv, s = Attention (x, k, v, m)", None,
              f"softcap = 1.5, qk_matmul_output_mode = {mode}")
    CASES[-1].outputs = "y s"
LENGTHS = "n = Constant <value_ints = [3, 1]> ()\n y = Attention"
for name, attributes, offsets in [("lengths", "", None), ("lengths_causal", "is_causal = 1", 0)]:
    def padded(x, k, v, offsets=offsets):
        outputs = []
        for i, length in enumerate([3, 1]):
            mask = torch.zeros(4, 5).masked_fill(torch.arange(5) >= length, -torch.inf)
            if offsets is not None:
                mask = mask + windowed(4, 5, right=0, first=length - 4)
            # A query that sees no key results in 0.
            seen = (mask == 0).any(1, keepdim=True)
            scores = x[i] @ k[i].mT / 8**0.5 + mask.masked_fill(~seen, 0)
            outputs.append(torch.where(seen, torch.softmax(scores, -1) @ v[i], 0))
        return torch.stack(outputs)
    case(f"Attention_{name}", f"x[2,3,4,8] {KEY} {VALUE}",
         f"{LENGTHS} <{attributes}> (x, k, v,,,, n)".replace(" <>", ""), padded, opset=24)
for name, attributes, options in [
        ("left", "left_window_size = 2", {"left": 2}),
        ("both", "left_window_size = 1, right_window_size = 0", {"left": 1, "right": 0}),
        ("right", "right_window_size = 1", {"right": 1}),
        ("causal", "left_window_size = 1, is_causal = 1", {"left": 1, "right": 0})]:
    case(f"Attention_window_{name}", "x[2,3,7,8] k[2,3,7,8] v[2,3,7,6]",
         f"y = Attention <{attributes}> (x, k, v)",
         lambda x, k, v, o=options: SDPA(x, k, v, windowed(7, 7, **o)), opset=25)


def rotated(x, cosines, sines, interleaved=False, turned=None):
    """Pairs in the last dimension of [.., length, depth], rotated by angles [length, pairs]."""
    turned = turned or x.shape[-1]
    x, rest = x[..., :turned], x[..., turned:]
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    parts = [cosines * a - sines * b, sines * a + cosines * b]
    x = torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)
    return torch.cat([x, rest], -1)


case("RotaryEmbedding", "x[2,3,5,8] c[2,5,4] s[2,5,4]", "y = RotaryEmbedding (x, c, s)",
     lambda x, c, s: rotated(x, c[:, None], s[:, None]), opset=23)
case("RotaryEmbedding_joined", "x[2,5,24] c[2,5,4] s[2,5,4]",
     "y = RotaryEmbedding <num_heads = 3> (x, c, s)",
     lambda x, c, s: rotated(x.unflatten(2, (3, 8)), c[:, :, None], s[:, :, None]).flatten(2),
     opset=23)
case("RotaryEmbedding_interleaved", "x[2,3,5,8] c[2,5,2] s[2,5,2]",
     "y = RotaryEmbedding <interleaved = 1, rotary_embedding_dim = 4> (x, c, s)",
     lambda x, c, s: rotated(x, c[:, None], s[:, None], True, 4), opset=23)
case("RotaryEmbedding_positions", "x[2,3,5,8] c[9,4] s[9,4]",
     "p = Constant <value = int64[2,5] {0, 1, 2, 3, 4, 8, 7, 8, 0, 3}> ()\n"
     "y = RotaryEmbedding (x, c, s, p)",
     lambda x, c, s, p=torch.tensor([[0, 1, 2, 3, 4], [8, 7, 8, 0, 3]]): rotated(
         x, c[p][:, None], s[p][:, None]), opset=23)


def linear_attention(x, k, v, decay=None, beta=None, state=None, delta=False):
    """LinearAttention with 4 heads of queries, 2 of keys of 3 numbers, and a scale of 0.5."""
    x, k, v = x.unflatten(2, (2, 2, 3)), k.unflatten(2, (2, 3)), v.unflatten(2, (2, -1))
    if state is None:
        state = torch.zeros(x.shape[0], 2, 3, v.shape[-1], dtype=x.dtype)
    outputs = []
    for t in range(x.shape[1]):
        if decay is not None:
            state = decay[:, t].unflatten(1, (2, -1))[..., None].exp() * state
        new = v[:, t] - torch.einsum("bhkv,bhk->bhv", state, k[:, t]) if delta else v[:, t]
        if beta is not None:
            new = beta[:, t][..., None] * new
        state = state + k[:, t][..., None] * new[..., None, :]
        outputs.append(0.5 * torch.einsum("bhkv,bhgk->bhgv", state, x[:, t]).flatten(1))
    return torch.stack(outputs, 1)


for name, tensors, inputs, function in [
        ("linear", "", "", lambda x, k, v: linear_attention(x, k, v)),
        ("linear_state", "s[2,2,3,5]", ", s",
         lambda x, k, v, s: linear_attention(x, k, v, state=s)),
        ("gated", "d[2,4,2]", ",, d", lambda x, k, v, d: linear_attention(x, k, v, d)),
        ("delta", "b[2,4,1]", ",,, b",
         lambda x, k, v, b: linear_attention(x, k, v, None, b, delta=True)),
        ("gated_delta", "d[2,4,6] b[2,4,2]", ",, d, b",
         lambda x, k, v, d, b: linear_attention(x, k, v, d, b, delta=True))]:
    rule = name.replace("_state", "")
    case(f"LinearAttention_{name}", f"x[2,4,12] k[2,4,6] v[2,4,10] {tensors}".strip(),
         f'y, last = LinearAttention <q_num_heads = 4, kv_num_heads = 2, scale = 0.5, '
         f'update_rule = "{rule}"> (x, k, v{inputs})', function, opset=27)
case("CausalConvWithState", "x[2,3,7] w[3,1,4] b[3] s[2,3,3]",
     'y, last = CausalConvWithState <activation = "silu"> (x, w, b, s)',
     lambda x, w, b, s: F.silu(F.conv1d(torch.cat([s, x], 2), w, b, groups=3)),
     outputs="y last", opset=27)
case("CausalConvWithState_short", "x[2,3,2] w[3,1,4]",
     "y, last = CausalConvWithState (x, w)",
     lambda x, w: F.conv1d(F.pad(x, (3, 0)), w, groups=3), outputs="y last", opset=27)
case("SwiGLU", "x[3,17] b[3,17]", "y = SwiGLU (x, b)", lambda x, b: F.silu(x) * b, opset=28)
case("SwiGLU_alpha", "x[3,17]", "y = SwiGLU <alpha = 1.5> (x, x)",
     lambda x: x * x * torch.sigmoid(1.5 * x), opset=28)
for time in (0, 1):
    def reversed_steps(x, time=time):
        moved = x if time == 0 else x.transpose(0, 1)
        steps = [torch.cat([moved[:n, i].flip(0), moved[n:, i]])
                 for i, n in enumerate([4, 1, 3])]
        return torch.stack(steps, 1 - time)
    case(f"ReverseSequence_{time}", "x[4,3,5]" if time == 0 else "x[3,4,5]",
         "n = Constant <value_ints = [4, 1, 3]> ()\n"
         f"y = ReverseSequence <time_axis = {time}, batch_axis = {1 - time}> (x, n)",
         reversed_steps)

# A sample that is only padding, with a mask of the lowest float: its probabilities are equal.
case("Attention_padded", "x[3,2,7,8] k[3,2,5,8] v[3,2,5,6]",
     "c = Constant <value = bool[3,1,1,5] {1,1,1,1,1, 1,1,0,0,0, 0,0,0,0,0}> ()\n"
     "low = Constant <value_float = -3.4028234663852886e38> ()\n"
     "zero = Constant <value_float = 0.0> ()\n m = Where (c, zero, low)\n"
     "t = Transpose <perm = [0, 1, 3, 2]> (k)\n s = MatMul (x, t)\n d = Add (s, m)\n"
     "p = Softmax <axis = 3> (d)\n y = MatMul (p, v)",
     lambda x, k, v: torch.softmax(x @ k.mT + torch.tensor(
         [[0.0] * 5, [0.0] * 2 + [-3.4028234663852886e38] * 3, [-3.4028234663852886e38] * 5],
         dtype=x.dtype)[:, None, None], -1) @ v)
# The same as products around a softmax, which becomes one op.
case("Attention_written_out", "x[2,3,7,8] k[2,3,5,8] v[2,3,5,6]",
     "t = Transpose <perm = [0, 1, 3, 2]> (k)\n s = MatMul (x, t)\n"
     "c = Constant <value_float = 0.3> ()\n d = Mul (s, c)\n p = Softmax <axis = 3> (d)\n"
     "y = MatMul (p, v)", lambda x, k, v: SDPA(x, k, v, scale=0.3))
case("Attention_written_out_causal", "x[2,3,4] k[2,3,4] v[2,3,5]",
     "t = Transpose <perm = [0, 2, 1]> (k)\n s = MatMul (x, t)\n"
     "m = Constant <value = float[3,3] {0.0, -3e38, -3e38, 0.0, 0.0, -3e38, 0.0, 0.0, 0.0}> ()\n"
     "d = Add (s, m)\n p = Softmax <axis = 2> (d)\n y = MatMul (p, v)",
     lambda x, k, v: SDPA(x, k, v, is_causal=True, scale=1.0))
