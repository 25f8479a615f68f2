"""Transformers for images, sounds and time series."""
import torch
import torch.nn as nn
import transformers as T
from torchvision.models import SwinTransformer, VisionTransformer

from encoders import CLASSES, text
from registry import family, floats, images, tokens, transformer

VIT = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, image_size=8, patch_size=4,
           num_labels=3)
SMALL = dict(hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2)
BOTH = dict(d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=12, decoder_ffn_dim=12)
SOUND = dict(**SMALL, vocab_size=12, conv_dim=(8, 8), conv_stride=(4, 2), conv_kernel=(8, 4), num_feat_extract_layers=2,
             num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, apply_spec_augment=False)


def pixels(n, size=8):
    return {"pixel_values": images(n, size)}


@family(CLASSES, exporters="script dynamo optimized")
def vit(n):
    return transformer(T.ViTForImageClassification, T.ViTConfig(**VIT), pixels(n))


@family(CLASSES)
def deit(n):
    return transformer(T.DeiTForImageClassification, T.DeiTConfig(**VIT), pixels(n))


@family(CLASSES)
def dinov2(n):
    return transformer(T.Dinov2ForImageClassification, T.Dinov2Config(**VIT), pixels(n))


@family(CLASSES)
def vit_torchvision(n):
    net = VisionTransformer(8, 4, 1, 2, 8, 12, num_classes=3)
    nn.init.normal_(net.heads.head.weight, std=0.1)
    return net, {"x": images(n, 8)}


@family(CLASSES, exporters="dynamo") # The other exporter writes twice as many nodes for its windows.
def swin(n):
    return SwinTransformer([2, 2], 8, [2], [2], [2, 2], mlp_ratio=2, num_classes=3, stochastic_depth_prob=0), \
        {"x": images(n, 8)}


@family(CLASSES)
def swin_hf(n):
    config = T.SwinConfig(image_size=16, patch_size=4, embed_dim=8, depths=[1, 1], num_heads=[1, 2], window_size=2,
                          mlp_ratio=2, num_labels=3)
    return transformer(T.SwinForImageClassification, config, pixels(n, 16), attention="eager")


@family(CLASSES, axis=1)
def segformer(n):
    config = T.SegformerConfig(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 12],
                               patch_sizes=[7, 3], strides=[2, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2],
                               decoder_hidden_size=8, num_labels=3)
    return transformer(T.SegformerForSemanticSegmentation, config, pixels(n, 16))


@family(CLASSES, batch=8)
def mobilevit(n):
    config = T.MobileViTConfig(image_size=32, hidden_sizes=[8, 8, 8], neck_hidden_sizes=[4, 4, 4, 8, 8, 8, 8],
                               num_attention_heads=2, mlp_ratio=1.5, expand_ratio=2.0, num_labels=3)
    net, inputs = transformer(T.MobileViTForImageClassification, config, pixels(n, 32))
    stages = net.m.mobilevit.encoder.layer # Five, with nine attention layers.
    del stages[3:], stages[2].transformer.layer[1:], stages[1].layer[1:]
    return net, inputs


@family(CLASSES)
def clip(n):
    config = T.CLIPConfig(text_config=dict(**SMALL, vocab_size=24, max_position_embeddings=8, pad_token_id=0,
                                           bos_token_id=1, eos_token_id=23),
                          vision_config=dict(**SMALL, image_size=8, patch_size=4), projection_dim=6,
                          logit_scale_init_value=0.5)
    return transformer(T.CLIPModel, config, {**text(n), **pixels(n)}, "logits_per_image")


# torch.export fails on a mask that is all true; the other exporter does not record that the backbone is frozen.
@family("mse", exporters="script", compile=["--freeze=backbone.model"])
def detr(n):
    backbone = T.ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic",
                              out_features=["stage2"])
    config = T.DetrConfig(**BOTH, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                          backbone_config=backbone, num_queries=3, num_labels=3)
    return transformer(T.DetrForObjectDetection, config, pixels(n, 16),
                       lambda result: torch.cat([result["logits"], result["pred_boxes"]], -1))


@family(CLASSES, exporters="dynamo") # The TorchScript exporter has no diff.
def whisper(n):
    config = T.WhisperConfig(**BOTH, vocab_size=24, num_mel_bins=4, max_source_positions=8, max_target_positions=8,
                             decoder_start_token_id=1, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    return transformer(T.WhisperForConditionalGeneration, config,
                       {"input_features": floats(n, 4, 16), "decoder_input_ids": tokens(n, 4, low=3)}, use_cache=False)


@family(CLASSES, axis=2)
def wav2vec2(n):
    return transformer(T.Wav2Vec2ForCTC, T.Wav2Vec2Config(**SOUND), {"input_values": floats(n, 64)})


@family(CLASSES)
def audio_spectrogram(n):
    config = T.ASTConfig(**SMALL, patch_size=4, frequency_stride=4, time_stride=4, max_length=16, num_mel_bins=8,
                         num_labels=3)
    return transformer(T.ASTForAudioClassification, config, {"input_values": floats(n, 16, 8)})


# Positions are a parameter that is not trained. The TorchScript exporter writes inconsistent shapes.
@family("mse", exporters="dynamo", compile=["--freeze=position_enc"])
def patchtst(n):
    config = T.PatchTSTConfig(num_input_channels=2, context_length=12, prediction_length=4, patch_length=4,
                              patch_stride=4, d_model=8, num_hidden_layers=1, num_attention_heads=2, ffn_dim=12,
                              loss="mse", do_mask_input=False)
    return transformer(T.PatchTSTForPrediction, config, {"past_values": floats(n, 12, 2)}, "prediction_outputs")


@family("mse", exporters="script") # For the same reason as DETR.
def time_series_transformer(n):
    config = T.TimeSeriesTransformerConfig(**BOTH, prediction_length=3, context_length=6, lags_sequence=[1, 2],
                                           num_time_features=1)
    inputs = {"past_values": floats(n, 8), "past_time_features": floats(n, 8, 1),
              "past_observed_mask": torch.ones(n, 8), "future_values": floats(n, 3),
              "future_time_features": floats(n, 3, 1)}
    return transformer(T.TimeSeriesTransformerForPrediction, config, inputs,
                       lambda result: torch.cat(result["params"], -1), use_cache=False)
