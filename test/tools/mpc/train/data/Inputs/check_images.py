"""check_images.py EXPECTED.json PREDICTIONS.npz LAYOUT: compares pixels, without NumPy."""
import json
import struct
import sys
import zipfile

with open(sys.argv[1]) as file:
    expected = json.load(file)
with zipfile.ZipFile(sys.argv[2]) as archive:
    data = archive.read("y.npy")
data = data[10 + struct.unpack("<H", data[8:10])[0] :]
values = struct.unpack(f"<{len(data) // 4}f", data)
MEANS, DEVIATIONS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

names = sorted(expected)
assert len(values) == len(names) * 3 * 64, len(values)
for i, name in enumerate(names):
    tolerance = 0.01 if name.endswith("png") else 2
    for channel in range(3):
        for pixel in range(64):
            if sys.argv[3] == "nhwc":
                found = values[(i * 64 + pixel) * 3 + channel]
            else:
                found = values[(i * 3 + channel) * 64 + pixel]
            if sys.argv[3] == "imagenet":
                found = found * DEVIATIONS[channel] + MEANS[channel]
            wanted = expected[name][channel][pixel // 8][pixel % 8]
            assert abs(found * 255 - wanted) < tolerance, (name, channel, pixel, found * 255, wanted)
