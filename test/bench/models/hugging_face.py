"""Language and speech models of the package transformers, from configurations with
random weights, without dropout and caches."""
import torch
import transformers
from torch import nn

from .case import Case, classes

VOCABULARY = 8192


class Logits(nn.Module):
    """Only the logits of a model that takes its inputs by name."""

    def __init__(self, model, *names):
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs)), use_cache=False).logits


def decoder(model, batch, length, vocabulary=VOCABULARY):
    tokens = classes(batch, length + 1, count=vocabulary)
    inputs = {"tokens": tokens[:, :-1].contiguous()}
    return Case(Logits(model, "input_ids"), inputs, tokens[:, 1:].contiguous())


def use_plain_attention(module):
    """PyTorch 2.13 cannot export attention with a bias and the reshape after it: "Cannot
    view a tensor with shape [4, 128, 8, 64] and strides (65536, 64, 8192, 1)"."""
    module.model.set_attn_implementation("eager")


def gpt2(batch=4, length=256, **sizes):
    config = transformers.GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **sizes)
    model = transformers.GPT2LMHeadModel(config)
    return decoder(model, batch, length, config.vocab_size)


def llama(batch=4, length=256):
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=6,
        num_attention_heads=8,
        num_key_value_heads=2,
        max_position_embeddings=length,
    )
    return decoder(transformers.LlamaForCausalLM(config), batch, length)


def mamba(batch=4, length=32):
    config = transformers.MambaConfig(
        vocab_size=VOCABULARY, hidden_size=256, num_hidden_layers=4
    )
    return decoder(transformers.MambaForCausalLM(config), batch, length)


def bert(batch=8, length=128):
    """Predicts all tokens, as masked language models do with the masked ones."""
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=512,
        num_hidden_layers=6,
        num_attention_heads=8,
        intermediate_size=2048,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
    )
    model = transformers.BertForMaskedLM(config)
    tokens = classes(batch, length, count=VOCABULARY)
    labels = classes(batch, length, count=VOCABULARY)
    return Case(BertLogits(model), {"tokens": tokens}, labels)


class BertLogits(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(input_ids=tokens).logits


def t5(batch=4, length=128, answer=64):
    config = transformers.T5Config(
        vocab_size=VOCABULARY, dropout_rate=0, decoder_start_token_id=0
    )
    model = transformers.T5ForConditionalGeneration(config)
    inputs = {
        "tokens": classes(batch, length, count=VOCABULARY),
        "answer": classes(batch, answer, count=VOCABULARY),
    }
    labels = classes(batch, answer, count=VOCABULARY)
    module = Logits(model, "input_ids", "decoder_input_ids")
    return Case(module, inputs, labels, before_export=use_plain_attention)


def whisper(batch=4, answer=64):
    """The sizes of whisper-tiny, which are the configuration's default, for 30 seconds."""
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=3,
    )
    model = transformers.WhisperForConditionalGeneration(config)
    inputs = {
        "sound": torch.randn(batch, config.num_mel_bins, 2 * config.max_source_positions),
        "answer": classes(batch, answer, count=VOCABULARY),
    }
    labels = classes(batch, answer, count=VOCABULARY)
    return Case(Logits(model, "input_features", "decoder_input_ids"), inputs, labels)
