"""Convolutional image classifiers; torchvision's if their width can be chosen."""
import torch.nn as nn
from registry import Then, family, floats, images
from torchvision.models import DenseNet, MobileNetV2
from torchvision.models.convnext import CNBlockConfig, ConvNeXt
from torchvision.models.efficientnet import EfficientNet, FusedMBConvConfig, MBConvConfig
from torchvision.models.googlenet import Inception
from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3
from torchvision.models.regnet import BlockParams, RegNet
from torchvision.models.resnet import BasicBlock, Bottleneck
from torchvision.models.shufflenetv2 import InvertedResidual
from torchvision.models.squeezenet import Fire

CLASSES = "softmax-cross-entropy"


def classifier(*parts, width):
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 5))


def halving(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, 2, bias=False), nn.BatchNorm2d(outputs))


def stem(width):
    return nn.Sequential(nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())


@family(CLASSES, batch=8, exporters="script dynamo optimized")
def mlp(n):
    return nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 5)), \
        {"x": floats(n, 12)}


@family(CLASSES, batch=8)
def mlp_norms(n):
    return nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.SiLU(), nn.Dropout(0), nn.Linear(16, 16),
                         nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 5)), {"x": floats(n, 12)}


@family(CLASSES, batch=8)
def resnet(n):
    return classifier(stem(8), BasicBlock(8, 8), BasicBlock(8, 16, 2, halving(8, 16)),
                      width=16), {"x": images(n)}


@family(CLASSES, batch=8)
def resnext(n):
    return classifier(stem(8), Bottleneck(8, 4, 1, nn.Conv2d(8, 16, 1), groups=2, base_width=64),
                      Bottleneck(16, 4, groups=2, base_width=64), width=16), {"x": images(n)}


@family(CLASSES)
def vgg(n):
    def stage(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
    return nn.Sequential(*stage(3, 8), *stage(8, 12), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(48, 16),
                         nn.ReLU(inplace=True), nn.Linear(16, 5)), {"x": images(n)}


@family(CLASSES, batch=8)
def vgg_batch_norm(n):
    def stage(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
                nn.MaxPool2d(2)]
    return classifier(*stage(3, 8), *stage(8, 12), width=12), {"x": images(n)}


@family(CLASSES)
def alexnet(n):
    return nn.Sequential(nn.Conv2d(3, 8, 5, 2, 2), nn.ReLU(), nn.LocalResponseNorm(3), nn.MaxPool2d(3, 2),
                         nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 5)), \
        {"x": images(n)}


@family(CLASSES, batch=8)
def mobilenet_v2(n):
    net = MobileNetV2(num_classes=5, width_mult=0.25, round_nearest=4, dropout=0,
                      inverted_residual_setting=[[1, 16, 1, 1], [3, 24, 2, 2]])
    # The last layer has at least 1280 channels for any width multiplier.
    net.features[-1], net.classifier = nn.Conv2d(8, 16, 1), nn.Linear(16, 5)
    return net, {"x": images(n)}


@family(CLASSES, batch=8)
def mobilenet_v3(n):
    blocks = [InvertedResidualConfig(8, 3, 8, 8, True, "RE", 2, 1, 1),
              InvertedResidualConfig(8, 5, 16, 8, True, "HS", 1, 1, 1)]
    return MobileNetV3(blocks, last_channel=16, num_classes=5, dropout=0), {"x": images(n)}


@family(CLASSES, batch=8)
def efficientnet(n):
    blocks = [FusedMBConvConfig(2, 3, 1, 8, 8, 1), MBConvConfig(2, 3, 2, 8, 8, 1, 1.0, 1.0)]
    return EfficientNet(blocks, dropout=0, stochastic_depth_prob=0, num_classes=5, last_channel=16), {"x": images(n)}


@family(CLASSES, batch=8)
def densenet(n):
    return DenseNet(growth_rate=4, block_config=(2, 1), num_init_features=8, bn_size=2, num_classes=5), {"x": images(n)}


@family(CLASSES)
def convnext(n):
    blocks = [CNBlockConfig(8, 12, 1), CNBlockConfig(12, None, 1)]
    return ConvNeXt(blocks, stochastic_depth_prob=0, layer_scale=0.1, num_classes=5), {"x": images(n)}


@family(CLASSES, batch=8)
def shufflenet(n):
    return classifier(stem(8), InvertedResidual(8, 16, 2), InvertedResidual(16, 16, 1), width=16), {"x": images(n)}


@family(CLASSES)
def squeezenet(n):
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), Fire(8, 4, 8, 8),
                         nn.Conv2d(16, 5, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()), {"x": images(n)}


@family(CLASSES, batch=8)
def inception(n):
    return classifier(stem(8), Inception(8, 4, 4, 8, 4, 4, 4), width=20), {"x": images(n, 8)}


@family(CLASSES, batch=8)
def regnet(n):
    blocks = BlockParams(depths=[1, 1], widths=[8, 16], group_widths=[4, 8], bottleneck_multipliers=[1.0, 1.0],
                         strides=[2, 2], se_ratio=0.25)
    return RegNet(blocks, num_classes=5, stem_width=8), {"x": images(n)}


@family(CLASSES, batch=8)
def signals(n):
    """In one dimension, as for audio."""
    return nn.Sequential(nn.Conv1d(3, 8, 5, 2, 2), nn.BatchNorm1d(8), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 8, 3),
                         nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 5)), {"x": floats(n, 3, 32)}


@family(CLASSES)
def volumes(n):
    """In three dimensions, as for video."""
    return nn.Sequential(nn.Conv3d(1, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2),
                         nn.Conv3d(4, 8, 3), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(8, 5)), \
        {"x": floats(n, 1, 8, 8, 8)}


@family(CLASSES)
def group_norm(n):
    return Then(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.PReLU(8), nn.Conv2d(8, 8, 3),
                nn.InstanceNorm2d(8, affine=True), nn.Hardswish(), lambda x: x.mean((2, 3)), nn.Linear(8, 5)), \
        {"x": images(n, 12)}
