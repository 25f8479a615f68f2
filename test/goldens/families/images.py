"""Networks whose output is an image or comes from one: segmentation, autoencoders, GANs, diffusion."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models.segmentation.deeplabv3 import ASPP
from torchvision.models.segmentation.fcn import FCN, FCNHead

from registry import Then, family, floats, images

PIXELS = "softmax-cross-entropy"


def twice(inputs, outputs, norm):
    return nn.Sequential(*[part for i in (inputs, outputs) for part in (
        nn.Conv2d(i, outputs, 3, padding=1), nn.BatchNorm2d(outputs) if norm else nn.Identity(), nn.ReLU())])


class Unet(nn.Module):
    def __init__(self, up, norm):
        super().__init__()
        self.before, self.below, self.after = twice(3, 4, norm), twice(4, 8, norm), twice(8, 4, norm)
        self.up, self.head = up, nn.Conv2d(4, 3, 1)

    def forward(self, x):
        x = self.before(x)
        y = self.up(self.below(F.max_pool2d(x, 2)))
        return self.head(self.after(torch.cat([y, x], 1)))


@family(PIXELS, axis=1)
def unet_transposed(n):
    return Unet(nn.ConvTranspose2d(8, 4, 2, 2), norm=True), {"x": images(n)}


@family(PIXELS, axis=1)
def unet_bilinear(n):
    up = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.Conv2d(8, 4, 1))
    return Unet(up, norm=True), {"x": images(n)}


@family(PIXELS, axis=1, exporters="script dynamo optimized")
def unet_nearest(n):
    return Unet(nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(8, 4, 3, padding=1)), norm=False), {"x": images(n)}


class Backbone(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())

    def forward(self, x):
        return {"out": super().forward(x)}


@family(PIXELS, axis=1)
def fcn(n):
    return Then(FCN(Backbone(), FCNHead(16, 3)), lambda result: result["out"]), {"x": images(n)}


@family(PIXELS, axis=1)
def deeplab(n):
    return Then(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 1, 2, dilation=2), nn.ReLU(),
                ASPP(8, [2, 3], 4), nn.Conv2d(4, 3, 1), lambda x: F.interpolate(x, size=(16, 16), mode="bilinear")), \
        {"x": images(n)}


@family("mse")
def super_resolution(n):
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.PReLU(), nn.Conv2d(8, 12, 3, padding=1,
                         padding_mode="reflect"), nn.PixelShuffle(2)), {"x": images(n, 8)}


@family("mse")
def autoencoder(n):
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU(),
                         nn.ConvTranspose2d(8, 8, 3, 2, 1, output_padding=1), nn.ReLU(),
                         nn.ConvTranspose2d(8, 3, 3, 2, 1, output_padding=1), nn.Sigmoid()), {"x": images(n)}


class Vae(nn.Module):
    """The noise is an input, because mpc and PyTorch draw different numbers."""
    def __init__(self):
        super().__init__()
        self.encoder, self.mean, self.spread = nn.Linear(32, 16), nn.Linear(16, 4), nn.Linear(16, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 32))

    def forward(self, x, noise):
        h = F.relu(self.encoder(x))
        return self.decoder(self.mean(h) + noise * torch.exp(0.5 * self.spread(h)))


@family("mse")
def vae(n):
    return Vae(), {"x": floats(n, 32), "noise": floats(n, 4)}


@family("mse")
def gan_generator(n):
    return nn.Sequential(nn.ConvTranspose2d(8, 16, 4, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                         nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh()), {"x": floats(n, 8, 1, 1)}


@family("bce-with-logits", batch=8)
def gan_discriminator(n):
    return nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2), nn.Conv2d(8, 8, 4, 2, 1, bias=False),
                         nn.BatchNorm2d(8), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4, bias=False), nn.Flatten()), \
        {"x": images(n)}


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.before, self.between, self.time = nn.GroupNorm(2, 8), nn.GroupNorm(2, 8), nn.Linear(16, 8)

    def forward(self, x, time):
        h = self.first(F.silu(self.before(x))) + self.time(time)[:, :, None, None]
        return x + self.second(F.silu(self.between(h)))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time, self.head = nn.Sequential(nn.Linear(8, 16), nn.SiLU()), nn.Conv2d(8, 3, 3, padding=1)
        self.stem, self.above, self.below = nn.Conv2d(3, 8, 3, padding=1), Residual(), Residual()
        self.down, self.norm, self.attention = nn.Conv2d(8, 8, 3, 2, 1), nn.GroupNorm(2, 8), nn.MultiheadAttention(
            8, 2, batch_first=True)

    def forward(self, x, time):
        angles = time[:, None].float() * torch.exp(torch.arange(4) * -0.5)
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        x = self.above(self.stem(x), time)
        y = self.below(self.down(x), time)
        flat = self.norm(y).flatten(2).transpose(1, 2)
        y = y + self.attention(flat, flat, flat, need_weights=False)[0].transpose(1, 2).reshape(y.shape)
        return self.head(x + F.interpolate(y, scale_factor=2.0, mode="nearest"))


@family("mse")
def diffusion(n):
    return Denoiser(), {"x": images(n, 8), "time": torch.randint(0, 100, (n,))}
