"""Networks whose output is an image: U-Net, a diffusion U-Net with attention, and a
variational autoencoder with transposed convolutions."""
import math

import torch
from torch import nn
from torch.nn import functional

from .case import Case, classes, images


def conv_bn(before, after):
    return [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]


def double_conv(before, after):
    return nn.Sequential(*conv_bn(before, after), *conv_bn(after, after))


class UNet(nn.Module):
    def __init__(self, width, levels, count):
        super().__init__()
        widths = [width << level for level in range(levels)]
        self.first = double_conv(3, width)
        pairs = list(zip(widths, widths[1:]))
        self.down = nn.ModuleList(double_conv(*pair) for pair in pairs)
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(wide, narrow, 2, stride=2) for narrow, wide in reversed(pairs)
        )
        self.join = nn.ModuleList(
            double_conv(2 * narrow, narrow) for narrow, _ in reversed(pairs)
        )
        self.last = nn.Conv2d(width, count, 1)

    def forward(self, x):
        x = self.first(x)
        kept = []
        for down in self.down:
            kept.append(x)
            x = down(functional.max_pool2d(x, 2))
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([kept.pop(), up(x)], 1))
        return self.last(x)


def unet(batch=4, pixels=128, count=21):
    inputs = {"images": images(batch, pixels)}
    labels = classes(batch, pixels, pixels, count=count)
    return Case(UNet(32, 5, count), inputs, labels, class_axis=1, channels_last=True)


class Residual(nn.Module):
    def __init__(self, before, after, embedded):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, before), nn.GroupNorm(8, after)
        self.conv1 = nn.Conv2d(before, after, 3, padding=1)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1)
        self.time = nn.Linear(embedded, after)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, time):
        inner = self.conv1(functional.silu(self.norm1(x)))
        inner = inner + self.time(time)[:, :, None, None]
        return self.skip(x) + self.conv2(functional.silu(self.norm2(inner)))


class ImageAttention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(8, width)
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        batch, width, height, breadth = x.shape
        qkv = self.qkv(self.norm(x)).reshape(batch, 3, self.heads, width // self.heads, -1)
        q, k, v = qkv.transpose(-1, -2).unbind(1)
        mixed = functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(mixed.transpose(-1, -2).reshape(batch, width, height, breadth))


class DiffusionUNet(nn.Module):
    """Predicts the noise; attention at a half and a quarter of the resolution."""

    def __init__(self, width=64):
        super().__init__()
        embedded = 4 * width
        self.width = width
        self.time = nn.Sequential(
            nn.Linear(width, embedded), nn.SiLU(), nn.Linear(embedded, embedded), nn.SiLU()
        )
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.fine = Residual(width, width, embedded)
        self.down1 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.middle = Residual(2 * width, 2 * width, embedded)
        self.attention1 = ImageAttention(2 * width)
        self.down2 = nn.Conv2d(2 * width, 4 * width, 3, stride=2, padding=1)
        self.coarse1 = Residual(4 * width, 4 * width, embedded)
        self.attention2 = ImageAttention(4 * width)
        self.coarse2 = Residual(4 * width, 4 * width, embedded)
        self.up1 = nn.Conv2d(4 * width, 2 * width, 3, padding=1)
        self.middle_up = Residual(4 * width, 2 * width, embedded)
        self.attention3 = ImageAttention(2 * width)
        self.up2 = nn.Conv2d(2 * width, width, 3, padding=1)
        self.fine_up = Residual(2 * width, width, embedded)
        self.norm = nn.GroupNorm(8, width)
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    def embed(self, time):
        half = self.width // 2
        rates = torch.exp(torch.arange(half, device=time.device) * (-math.log(10000) / half))
        angles = time[:, None] * rates
        return self.time(torch.cat([angles.sin(), angles.cos()], 1))

    def forward(self, x, time):
        time = self.embed(time)
        fine = self.fine(self.first(x), time)
        middle = self.attention1(self.middle(self.down1(fine), time))
        x = self.attention2(self.coarse1(self.down2(middle), time))
        x = self.coarse2(x, time)
        x = self.up1(functional.interpolate(x, scale_factor=2.0))
        x = self.attention3(self.middle_up(torch.cat([x, middle], 1), time))
        x = self.up2(functional.interpolate(x, scale_factor=2.0))
        x = self.fine_up(torch.cat([x, fine], 1), time)
        return self.last(functional.silu(self.norm(x)))


def diffusion(batch=4, pixels=32):
    inputs = {
        "images": images(batch, pixels),
        "time": torch.randint(1000, (batch,)).float(),
    }
    noise = images(batch, pixels)
    return Case(DiffusionUNet(), inputs, noise, loss="mse", channels_last=True)


class Vae(nn.Module):
    """Returns its loss; the noise of the sample is an input."""

    def __init__(self, pixels, width=32, code=128):
        super().__init__()
        self.small = pixels // 16
        widths = [3, width, 2 * width, 4 * width, 8 * width]
        pairs = list(zip(widths, widths[1:]))
        layers = [
            [nn.Conv2d(before, after, 4, 2, 1), nn.BatchNorm2d(after), nn.ReLU()]
            for before, after in pairs
        ]
        self.encoder = nn.Sequential(*sum(layers, []))
        self.widest = widths[-1]
        flat = self.widest * self.small**2
        # Exporters fail for a module named `code`, which torch.fx uses itself.
        self.to_code = nn.Linear(flat, 2 * code)
        self.decode = nn.Linear(code, flat)
        layers = [
            [nn.ConvTranspose2d(after, before, 4, 2, 1), nn.BatchNorm2d(before), nn.ReLU()]
            for before, after in reversed(pairs[1:])
        ]
        last = nn.ConvTranspose2d(width, 3, 4, 2, 1)
        self.decoder = nn.Sequential(*sum(layers, []), last)

    def forward(self, x, noise):
        mean, log_variance = self.to_code(self.encoder(x).flatten(1)).chunk(2, 1)
        code = mean + noise * torch.exp(0.5 * log_variance)
        small = self.decode(code).reshape(-1, self.widest, self.small, self.small)
        rebuilt = (self.decoder(small) - x).square().sum((1, 2, 3)).mean()
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance)
        return (rebuilt + divergence.sum(1).mean()) / x[0].numel()


def vae(batch=16, pixels=64, code=128):
    inputs = {"images": images(batch, pixels), "noise": torch.randn(batch, code)}
    module = Vae(pixels, code=code)
    return Case(module, inputs, loss="output", channels_last=True)
