"""check_scale.py LOG INIT GROWTH BACKOFF INTERVAL HYSTERESIS MIN MAX: checks the loss
scales that `mpc train --json` printed.

The first is INIT; each one follows from the one before it, and from whether that step was
skipped, by PyTorch's rule within bounds: after HYSTERESIS overflows in a row times BACKOFF,
after INTERVAL steps without one times GROWTH. Prints how often it grew and shrank.
"""
import json
import struct
import sys


def f32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


scale, growth, backoff, least, most = (f32(float(sys.argv[i])) for i in (2, 3, 4, 7, 8))
interval, hysteresis = int(sys.argv[5]), int(sys.argv[6])
steps = overflows = grew = shrank = 0
for text in open(sys.argv[1]):
    line = json.loads(text)
    if "step" not in line:
        continue
    assert f32(line["loss_scale"]) == scale, (line, scale)
    before = scale
    if line["skipped"]:
        steps, overflows = 0, overflows + 1
        if overflows >= hysteresis:
            scale = max(f32(scale * backoff), least)
    else:
        steps, overflows = steps + 1, 0
        if steps == interval:
            scale, steps = min(f32(scale * growth), most), 0
    grew, shrank = grew + (scale > before), shrank + (scale < before)
print(f"grew {grew} times, shrank {shrank} times")
