#!/usr/bin/env python3
"""Writes small images in folders of classes, and what Pillow makes of them.

make_images.py FOLDER: each image is cut to a square in its middle and resized to 8 x 8
pixels with Pillow's BILINEAR filter in 32-bit floats; expected.json has the red, green and
blue values from 0 to 255 of each file, by its path.
"""
import json
import pathlib
import sys

import numpy as np
from PIL import Image

SIZE = 8
FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "images")
random = np.random.default_rng(11)


def picture(width, height):
    """Smooth colours, so that JPEG keeps them, with some noise."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / (3 + i) + i) + np.cos(y / (4 - i)) for i in range(3)]
    return np.clip(np.stack(waves, -1) * 50 + 128 + random.normal(0, 4, (height, width, 3)), 0, 255).astype("uint8")


def expected(path):
    image = Image.open(path).convert("RGB")
    side = min(image.size)
    left, top = (image.width - side) / 2, (image.height - side) / 2
    channels = [channel.convert("F").resize((SIZE, SIZE), Image.BILINEAR, (left, top, left + side, top + side))
                for channel in image.split()]
    return np.stack([np.asarray(channel) for channel in channels]).astype(float).round(3).tolist()


rgb = Image.fromarray(picture(13, 9))
transparent = rgb.convert("RGBA")
transparent.putalpha(255)
files = {
    "large/gray.png": Image.fromarray(picture(30, 21)).convert("L"),
    "large/rgb.png": Image.fromarray(picture(21, 30)),
    "large/photo.jpg": Image.fromarray(picture(15, 12)),
    "large/gray-photo.JPEG": Image.fromarray(picture(12, 15)).convert("L"),
    "small/palette.png": rgb.quantize(16),
    "small/opaque.png": transparent,
    "small/tiny.png": Image.fromarray(picture(3, 2)),
    "small/exact.png": Image.fromarray(picture(8, 8)),
}
values = {}
for name, image in files.items():
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".png":
        image.save(path)
    else:
        image.save(path, format="JPEG", quality=92, subsampling=0)
    values[name] = expected(path)
with open(FOLDER / "expected.json", "w") as file:
    json.dump(values, file)
    file.write("\n")
