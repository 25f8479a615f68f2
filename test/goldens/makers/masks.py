"""The masks of dropout that mpc documents, for PyTorch."""
import contextlib
import math
import unittest.mock

import torch
import torch.nn.functional as F
from make_digits import dropout as masked


class Masks(contextlib.ExitStack):
    """Within it, dropouts take the masks of seed 0 and of this step. Their number is their order."""
    def __init__(self, step):
        super().__init__()
        self.step, self.count = step, 0
        for name, function in (("dropout", self.dropout), ("scaled_dot_product_attention", self.attention)):
            self.enter_context(unittest.mock.patch.object(F, name, function))

    def dropout(self, x, p=0.5, training=True, inplace=False):
        if not training or p == 0:
            return x
        self.count += 1
        return masked(x, p, self.step, op=self.count - 1)

    def attention(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                  enable_gqa=False):
        assert not enable_gqa
        scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
        if is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=bool).triu(1), float("-inf"))
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, float("-inf")) if attn_mask.dtype == torch.bool else scores + attn_mask
        return self.dropout(scores.softmax(-1), dropout_p) @ value
