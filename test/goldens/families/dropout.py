"""Transformers in train() with a dropout of 10 or 20 percent, also of the probabilities of attention."""
import torch.nn as nn
import torch.nn.functional as F
import transformers as T
from decoders import LLAMA, SPECIAL
from encoders import BERT, CLASSES, T5, both, text
from registry import Then, family, floats, transformer


def add(name, model, config, inputs=text, attention="eager", exporters="script dynamo", **always):
    def build(n):
        return transformer(getattr(T, model), getattr(T, config[0])(**config[1]), inputs(n), attention=attention,
                           dropout=0.1, **always)
    build.__name__ = name
    family(CLASSES, exporters=exporters, dropout=0.1)(build)


GPT2 = dict(vocab_size=24, n_positions=12, n_embd=8, n_layer=2, n_head=2, **SPECIAL)
add("bert_dropout", "BertForMaskedLM", ("BertConfig", {**BERT, "num_hidden_layers": 2}))
add("bert_sdpa_dropout", "BertForMaskedLM", ("BertConfig", {**BERT, "num_hidden_layers": 2}), attention="sdpa")
add("gpt2_dropout", "GPT2LMHeadModel", ("GPT2Config", GPT2), use_cache=False)
add("gemma2_dropout", "Gemma2ForCausalLM", ("Gemma2Config", {**LLAMA, "head_dim": 4, "sliding_window": 3,
    "attn_logit_softcapping": 0.5}), use_cache=False)
add("t5_dropout", "T5ForConditionalGeneration", ("T5Config", T5), both, use_cache=False)


@family(CLASSES, dropout=0.2)
def encoder_layer_dropout(n):
    layer = nn.TransformerEncoderLayer(8, 2, 12, 0.2, batch_first=True)
    return Then(layer, lambda x: x.mean(1), nn.Linear(8, 5)), {"x": floats(n, 6, 8)}


class Causal(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.o = nn.Linear(8, 24), nn.Linear(8, 5)

    def forward(self, x):
        q, k, v = [part.reshape(-1, 6, 2, 4).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)]
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.2, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(-1, 6, 8))


@family(CLASSES, axis=2, dropout=0.2)
def sdpa_dropout(n):
    return Causal(), {"x": floats(n, 6, 8)}
