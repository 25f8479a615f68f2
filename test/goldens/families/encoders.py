"""Encoders of the package transformers, and encoder-decoder models."""
import transformers as T
from registry import family, floats, tokens, transformer

CLASSES = "softmax-cross-entropy"
BERT = dict(vocab_size=24, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12,
            max_position_embeddings=12, pad_token_id=0, num_labels=3)
SEQ2SEQ = dict(vocab_size=24, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
               decoder_attention_heads=2, encoder_ffn_dim=12, decoder_ffn_dim=12, max_position_embeddings=12,
               decoder_start_token_id=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
T5 = dict(vocab_size=24, d_model=8, d_kv=4, d_ff=12, num_layers=1, num_heads=2, decoder_start_token_id=0,
          relative_attention_num_buckets=8)


def text(n):
    """The end of every fourth text is masked as padding. No token is the padding token of a configuration."""
    ids = tokens(n, 6, low=3)
    mask = (ids > 0).long()
    mask[1::4, 4:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def both(n):
    return {**text(n), "decoder_input_ids": tokens(n, 4, low=3)}


def add(name, model, config, inputs=text, options={}, **more):
    def build(n):
        return transformer(getattr(T, model), getattr(T, config[0])(**config[1]), inputs(n), **more)
    build.__name__ = name
    family(CLASSES, **options)(build)


def bert(name, model, config, **changes):
    add(name, model, (config, {**BERT, **changes}))


bert("bert", "BertForSequenceClassification", "BertConfig", num_hidden_layers=2)
bert("bert_mlm", "BertForMaskedLM", "BertConfig")
bert("roberta", "RobertaForSequenceClassification", "RobertaConfig", type_vocab_size=1, pad_token_id=1)
bert("albert", "AlbertForMaskedLM", "AlbertConfig", embedding_size=6, num_hidden_layers=2)
bert("electra", "ElectraForTokenClassification", "ElectraConfig", embedding_size=6)
bert("deberta", "DebertaForMaskedLM", "DebertaConfig", relative_attention=True, pos_att_type=["c2p", "p2c"],
     max_relative_positions=8)
bert("deberta_v2", "DebertaV2ForSequenceClassification", "DebertaV2Config", relative_attention=True,
     pos_att_type=["c2p", "p2c"], max_relative_positions=8, position_buckets=4, norm_rel_ebd="layer_norm",
     share_att_key=True)
bert("mpnet", "MPNetForMaskedLM", "MPNetConfig", pad_token_id=1)
add("distilbert", "DistilBertForSequenceClassification", ("DistilBertConfig", dict(
    vocab_size=24, dim=8, n_layers=1, n_heads=2, hidden_dim=12, max_position_embeddings=12, num_labels=3)))
# The TorchScript exporter does not record which tensors are buffers.
add("bart", "BartForConditionalGeneration", ("BartConfig", SEQ2SEQ), both,
    dict(compile=["--freeze=final_logits_bias"]), use_cache=False)
# torch.export fails on its scaled_dot_product_attention.
add("t5", "T5ForConditionalGeneration", ("T5Config", T5), both, use_cache=False, attention="eager")
