"""Image classifiers of the package timm, without dropout and stochastic depth."""
import pathlib
import sys

from .case import CLASSES, Case, classes, images

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "deep"))
import no_torchvision  # noqa: E402

no_torchvision.install()
import timm  # noqa: E402


def classifier(name, batch, pixels, channels_last=True, **options):
    model = timm.create_model(name, num_classes=CLASSES, drop_rate=0, **options)
    inputs = {"images": images(batch, pixels)}
    return Case(model, inputs, classes(batch), channels_last=channels_last)


def vit(batch=8):
    return classifier("vit_small_patch16_224", batch, 224, channels_last=False)


def mixer(batch=8):
    return classifier("mixer_s16_224", batch, 224, channels_last=False)


def swin(batch=8):
    name = "swin_tiny_patch4_window7_224"
    return classifier(name, batch, 224, channels_last=False, drop_path_rate=0)


def resnet50(batch=16):
    return classifier("resnet50", batch, 224)


def convnext(batch=8):
    return classifier("convnext_tiny", batch, 128, drop_path_rate=0)


def mobilenet(batch=16):
    return classifier("mobilenetv3_large_100", batch, 128)


def efficientnet(batch=16):
    return classifier("efficientnet_b0", batch, 128)


def densenet(batch=8):
    return classifier("densenet121", batch, 128)
