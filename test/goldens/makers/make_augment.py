#!/usr/bin/env python3
"""Writes small images, and what other software makes of them with given draws.

make_augment.py FOLDER: `cases.json` has cases of each augmentation. Images are lists of
channels of rows. Padding and rotation are done on reflected images: torch.nn.functional.pad,
and Image.rotate of Pillow; colors by Pillow's ImageEnhance, crops by Image.resize with a box. `jpeg` and `png` have the same photo.
"""
import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageEnhance

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "augment")
random = np.random.default_rng(21)
cases = []


def picture(channels, height, width):
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / (2 + i) + i) + np.cos(y / (3 - i)) for i in range(channels)]
    return np.clip(np.stack(waves) * 50 + 128 + random.normal(0, 9, (channels, height, width)), 0, 255).round()


def add(name, image, result, **draws):
    cases.append({"name": name, **draws, "image": image.tolist(), "result": np.asarray(result, float).round(4).tolist()})


def rotated(image, degrees):
    """Pillow fills with a color, so turn an image that is large enough."""
    more = max(image.shape)
    channels = []
    for channel in image:
        wide = np.pad(channel, more, mode="reflect")
        turned = Image.fromarray(wide.astype("float32"), "F").rotate(degrees, Image.BILINEAR)
        channels.append(np.asarray(turned)[more:-more, more:-more])
    return np.stack(channels)


def recolored(image, factors):
    mode = "L" if len(image) == 1 else "RGB"
    result = Image.fromarray(image.transpose(1, 2, 0).astype("uint8").squeeze(), mode)
    for enhance, factor in zip([ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color], factors):
        result = enhance(result).enhance(factor)
    result = np.asarray(result, float)
    return result[None] if mode == "L" else result.transpose(2, 0, 1)


for channels in (1, 3):
    image = picture(channels, 6, 5)
    add("flip", image, torch.flip(torch.tensor(image), [2]))
    add("vflip", image, torch.flip(torch.tensor(image), [1]))
    for pad, y, x in ((2, 0, 0), (2, 4, 1), (4, 3, 8), (3, 3, 3)):
        wide = F.pad(torch.tensor(image), [pad] * 4, mode="reflect")
        add("pad", image, wide[:, y : y + 6, x : x + 5], pad=pad, y=y, x=x)
    for degrees in (90, 15, -40, 180, 3.5):
        add("rotate", image, rotated(image, degrees), degrees=degrees)
    for size, y, x in ((2, 3, 2), (3, 3, 2), (4, 0, 0), (5, 5, 4), (20, 2, 2)):
        hidden = image.copy()
        hidden[:, max(y - size // 2, 0) : y - size // 2 + size, max(x - size // 2, 0) : x - size // 2 + size] = 0
        add("cutout", image, hidden, size=size, y=y, x=x)
    for factors in ((1.3, 1, 1), (0.6, 1, 1), (1, 1.4, 1), (1, 0.5, 1), (1, 1, 1.4), (1, 1, 0), (1.4, 0.7, 1.2)):
        add("color", image, recolored(image, factors), factors=factors)
    image = picture(channels, 20, 30)
    for box in ((0, 0, 30, 20), (3, 5, 17, 18), (25, 2, 30, 6), (10, 0, 12, 20)):
        resized = [Image.fromarray(c.astype("float32"), "F").resize((7, 6), Image.BILINEAR, box) for c in image]
        add("crop", image, np.stack([np.asarray(c) for c in resized]), box=box)

# Smooth, so that it is the same at a fraction of its size.
y, x = np.mgrid[0:64, 0:96]
photo = np.stack([np.sin(x / (20 + 3 * i)) + np.cos(y / (17 - i)) for i in range(3)], -1) * 50 + 128
for folder in ("jpeg", "png"):
    (FOLDER / folder).mkdir(parents=True, exist_ok=True)
Image.fromarray(photo.astype("uint8")).save(FOLDER / "jpeg/photo.jpg", quality=98, subsampling=0)
Image.fromarray(photo.astype("uint8")).save(FOLDER / "png/photo.png")
with open(FOLDER / "cases.json", "w") as file:
    file.write("[\n" + ",\n".join(map(json.dumps, cases)) + "\n]\n")
