"""Decoders of the package transformers: causal language models."""
import transformers as T
from encoders import CLASSES, text
from registry import family, tokens, transformer

SPECIAL = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)
LLAMA = dict(vocab_size=24, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
             intermediate_size=12, max_position_embeddings=12, initializer_range=0.1, **SPECIAL)


def add(name, model, config, inputs=text, attention=None, **options):
    def build(n):
        return transformer(getattr(T, model), getattr(T, config[0])(**config[1]), inputs(n), attention=attention,
                           use_cache=False)
    build.__name__ = name
    family(CLASSES, **options)(build)


def causal(name, kind, options={}, **changes):
    add(name, kind + "ForCausalLM", (kind + "Config", {**LLAMA, **changes}), **options)


add("gpt2", "GPT2LMHeadModel", ("GPT2Config", dict(vocab_size=24, n_positions=12, n_embd=8, n_layer=2, n_head=2,
    **SPECIAL)), exporters="script dynamo optimized")
add("opt", "OPTForCausalLM", ("OPTConfig", dict(vocab_size=24, hidden_size=8, num_hidden_layers=1,
    num_attention_heads=2, ffn_dim=12, max_position_embeddings=12, word_embed_proj_dim=8, **SPECIAL)),
    exporters="script dynamo optimized")
add("bloom", "BloomForCausalLM", ("BloomConfig", dict(vocab_size=24, hidden_size=8, n_layer=1, n_head=2, **SPECIAL)))
add("falcon", "FalconForCausalLM", ("FalconConfig", dict(vocab_size=24, hidden_size=8, num_hidden_layers=1,
    num_attention_heads=2, **SPECIAL)))
add("gpt_neo", "GPTNeoForCausalLM", ("GPTNeoConfig", dict(vocab_size=24, hidden_size=8, num_layers=2, num_heads=2,
    attention_types=[[["global", "local"], 1]], window_size=3, max_position_embeddings=12, intermediate_size=12,
    **SPECIAL)))
add("gptj", "GPTJForCausalLM", ("GPTJConfig", dict(vocab_size=24, n_embd=8, n_layer=1, n_head=2, rotary_dim=2,
    n_positions=12, n_inner=12, **SPECIAL)))
causal("gpt_neox", "GPTNeoX")
causal("llama", "Llama", {"exporters": "script dynamo optimized"}, num_hidden_layers=2)
causal("mistral", "Mistral", sliding_window=3)
causal("qwen2", "Qwen2")
causal("qwen3", "Qwen3", head_dim=4)
causal("gemma", "Gemma", head_dim=4)
causal("gemma2", "Gemma2", {"exporters": "script dynamo optimized"}, head_dim=4, sliding_window=3)
causal("phi", "Phi", num_key_value_heads=2)
# Its other implementations fail in both exporters, or compute the indices of experts from data.
causal("mixtral", "Mixtral", num_local_experts=4, num_experts_per_tok=2, experts_implementation="batched_mm")
add("mamba_hf", "MambaForCausalLM", ("MambaConfig", dict(vocab_size=24, hidden_size=8, state_size=2,
    num_hidden_layers=1, **SPECIAL)), lambda n: {"input_ids": tokens(n, 5, low=3)})
