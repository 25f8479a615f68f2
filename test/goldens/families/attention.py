"""Attention in all forms in which PyTorch and the package transformers write it."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import transformers as T
from decoders import LLAMA, SPECIAL
from encoders import BERT, CLASSES, SEQ2SEQ, T5, both, text
from registry import family, floats, tokens, transformer

GPT2 = dict(vocab_size=24, n_positions=12, n_embd=8, n_layer=2, n_head=2, **SPECIAL)
OPT = dict(vocab_size=24, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, ffn_dim=12,
           max_position_embeddings=12, word_embed_proj_dim=8, **SPECIAL)
TWO = dict(num_hidden_layers=2)
NO_CACHE = dict(use_cache=False)
DYNAMO = dict(exporters="dynamo") # The TorchScript exporter has no diff, and no groups of heads.
CLIP = dict(vocab_size=24, hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2,
            max_position_embeddings=12, eos_token_id=2, pad_token_id=0, bos_token_id=1)
VIT = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12, image_size=8, patch_size=4,
           num_labels=3)
WHISPER = dict(vocab_size=24, num_mel_bins=4, max_source_positions=8, max_target_positions=8, d_model=8,
               encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
               encoder_ffn_dim=12, decoder_ffn_dim=12, decoder_start_token_id=1, pad_token_id=0, bos_token_id=1,
               eos_token_id=2)


def unmasked(n):
    return {"input_ids": tokens(n, 6, low=3)}


def left_padded(n):
    """The queries at padding see no key."""
    inputs = text(n)
    inputs["attention_mask"] = inputs["attention_mask"].flip(1)
    return inputs


def pixels(n):
    return {"pixel_values": floats(n, 3, 8, 8)}


def seq2seq(n):
    return {"input_ids": tokens(n, 6, low=3), "decoder_input_ids": tokens(n, 4, low=3)}


def sounds(n):
    return {"input_features": floats(n, 4, 16), "decoder_input_ids": tokens(n, 4, low=3)}


def add(name, model, config, inputs=text, attention="eager", options={}, **always):
    def build(n):
        return transformer(getattr(T, model), getattr(T, config[0])(**config[1]), inputs(n), attention=attention,
                           **always)
    build.__name__ = name
    family(CLASSES, **options)(build)


def causal(name, kind, inputs=text, attention="eager", options={}, **changes):
    add(name, kind + "ForCausalLM", (kind + "Config", {**LLAMA, **TWO, **changes}), inputs, attention, options,
        use_cache=False)


add("gpt2_eager", "GPT2LMHeadModel", ("GPT2Config", GPT2), **NO_CACHE)
add("gpt2_unmasked", "GPT2LMHeadModel", ("GPT2Config", GPT2), unmasked, "sdpa", DYNAMO, **NO_CACHE)
add("gpt2_left_padded", "GPT2LMHeadModel", ("GPT2Config", GPT2), left_padded, "sdpa", **NO_CACHE)
causal("llama_eager", "Llama")
causal("llama_unmasked", "Llama", unmasked, "sdpa", DYNAMO)
causal("llama_left_padded", "Llama", left_padded, num_attention_heads=4)
causal("mistral_eager", "Mistral", sliding_window=3)
causal("mistral_unmasked", "Mistral", unmasked, "sdpa", DYNAMO, sliding_window=3)
causal("gemma_eager", "Gemma", head_dim=4)
# A soft cap that bends all scores.
causal("gemma2_softcap", "Gemma2", left_padded, head_dim=4, sliding_window=3, attn_logit_softcapping=0.5)
add("gpt_neo_left_padded", "GPTNeoForCausalLM", ("GPTNeoConfig", dict(vocab_size=24, hidden_size=8, num_layers=2,
    num_heads=2, attention_types=[[["global", "local"], 1]], window_size=2, max_position_embeddings=12,
    intermediate_size=12, **SPECIAL)), left_padded, **NO_CACHE)
causal("gpt_neox_eager", "GPTNeoX")
causal("phi_eager", "Phi", num_key_value_heads=2)
add("opt_eager", "OPTForCausalLM", ("OPTConfig", OPT), **NO_CACHE)
add("mpt", "MptForCausalLM", ("MptConfig", dict(vocab_size=24, d_model=8, n_layers=2, n_heads=2, max_seq_len=12,
    **SPECIAL)), **NO_CACHE)
add("bloom_unmasked", "BloomForCausalLM", ("BloomConfig", dict(vocab_size=24, hidden_size=8, n_layer=2, n_head=2,
    **SPECIAL)), unmasked, **NO_CACHE)
add("bert_eager", "BertForMaskedLM", ("BertConfig", {**BERT, **TWO}))
add("bert_unmasked", "BertForMaskedLM", ("BertConfig", {**BERT, **TWO}), unmasked, "sdpa")
add("roberta_eager", "RobertaForSequenceClassification", ("RobertaConfig", {**BERT, **TWO, "pad_token_id": 1}))
add("distilbert_eager", "DistilBertForSequenceClassification", ("DistilBertConfig", dict(vocab_size=24, dim=8,
    n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=12, num_labels=3)))
add("t5_unmasked", "T5ForConditionalGeneration", ("T5Config", {**T5, "num_layers": 2}), seq2seq, **NO_CACHE)
add("vit_eager", "ViTForImageClassification", ("ViTConfig", VIT), pixels)
add("clip_text", "CLIPTextModel", ("CLIPTextConfig", CLIP), text, "sdpa", output="last_hidden_state")
add("clip_text_eager", "CLIPTextModel", ("CLIPTextConfig", CLIP), text, output="last_hidden_state")
add("whisper_eager", "WhisperForConditionalGeneration", ("WhisperConfig", WHISPER), sounds,
    options=DYNAMO, **NO_CACHE)


class Block(nn.Module):
    """Self-attention between linear layers; attend(q, k, v, mask) is what differs."""
    def __init__(self, attend, heads=2, key_heads=2):
        super().__init__()
        self.attend, self.heads, self.key_heads = attend, heads, key_heads
        self.q, self.k = nn.Linear(8, heads * 4), nn.Linear(8, key_heads * 4)
        self.v, self.o = nn.Linear(8, key_heads * 4), nn.Linear(heads * 4, 5)

    def forward(self, x, *mask):
        batch, length, _ = x.shape
        q, k, v = [layer(x).view(batch, length, heads, 4).transpose(1, 2) for layer, heads in (
            (self.q, self.heads), (self.k, self.key_heads), (self.v, self.key_heads))]
        y = self.attend(q, k, v, *mask)
        return self.o(y.transpose(1, 2).reshape(batch, length, -1))


def sequences(n, length=6):
    return {"x": floats(n, length, 8)}


def booleans(n):
    mask = torch.rand(n, 1, 6, 6) < 0.6
    return {**sequences(n), "mask": mask | torch.eye(6, dtype=bool)}


def biases(n):
    return {**sequences(n), "mask": floats(n, 2, 6, 6)}


def paddings(n):
    mask = torch.ones(n, 6, dtype=bool)
    mask[1::2, 4:] = False
    return {**sequences(n), "mask": mask}


def form(**options):
    return family(CLASSES, axis=2, **options)


@form()
def sdpa_causal(n):
    return Block(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)), sequences(n)


@form(**DYNAMO)
def sdpa_groups(n):
    return Block(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True, scale=0.3),
                 heads=4), sequences(n)


@form()
def sdpa_bool_mask(n):
    return Block(lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask)), booleans(n)


@form()
def sdpa_float_mask(n):
    return Block(lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask)), biases(n)


@form()
def sdpa_one_key(n):
    return Block(lambda q, k, v: F.scaled_dot_product_attention(q, k[:, :, :1], v[:, :, :1])), sequences(n)


@form(batch=1)
def sdpa_batch_of_one(n):
    return Block(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)), sequences(n)


def interleaved(q, k, v):
    k, v = [x.repeat_interleave(2, 1) for x in (k, v)]
    return torch.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v


@form()
def repeated_heads(n):
    return Block(interleaved, heads=4), sequences(n)


def masked_in_place(q, k, v, mask):
    scores = torch.einsum("bhid,bhjd->bhij", q * 0.5, k)
    scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
    return torch.einsum("bhij,bhjd->bhid", scores.softmax(-1), v)


@form()
def masked_einsum(n):
    return Block(masked_in_place), paddings(n)


def weak_mask(q, k, v, mask):
    """-1e4, as f16 needs it."""
    scores = q @ k.transpose(-2, -1) * 0.5 + (1.0 - mask[:, None, None, :].float()) * -1e4
    return scores.softmax(-1, dtype=torch.float32) @ v


@form()
def weak_masks(n):
    return Block(weak_mask), paddings(n)


def saturated(q, k, v):
    """Scores of up to 1e4: all are at the cap."""
    scores = 3 * torch.tanh(q @ k.transpose(-2, -1) * 1e4 / 3)
    return (scores + torch.full((6, 6), float("-inf")).triu(1)).softmax(-1) @ v


@form()
def saturated_softcap(n):
    return Block(saturated), sequences(n)


def joined(q, k, v):
    """Batch and heads are one dimension."""
    q, k, v = [x.reshape(-1, 6, 4) for x in (q, k, v)]
    scores = torch.bmm(q, k.transpose(1, 2)).view(-1, 2, 6, 6) * 0.5 + torch.full((6, 6), float("-inf")).triu(1)
    return torch.bmm(scores.view(-1, 6, 6).softmax(-1), v).view(-1, 2, 6, 4)


@form()
def joined_heads(n):
    return Block(joined), sequences(n)


class Multihead(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.m, self.o, self.options = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 5), options

    def forward(self, x, *padding):
        options = dict(self.options, key_padding_mask=~padding[0]) if padding else self.options
        return self.o(self.m(x, x, x, **options)[0])


@form()
def multihead(n):
    return Multihead(need_weights=False), sequences(n)


@form()
def multihead_weights(n):
    return Multihead(need_weights=True), sequences(n)


@form()
def multihead_padded(n):
    return Multihead(need_weights=False), paddings(n)
