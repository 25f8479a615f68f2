"""fp8_states.py OPTIMIZER.safetensors: the scales of FP8, each kept
several times over, and the magnitudes they come from, a line for each.
"""
import json
import pathlib
import struct
import sys

file = pathlib.Path(sys.argv[1]).read_bytes()
(size,) = struct.unpack_from("<Q", file)
header = json.loads(file[8 : 8 + size])
for name in ("fp8.scales", "fp8.amax_history"):
    begin, end = header[name]["data_offsets"]
    values = struct.unpack_from(f"<{(end - begin) // 4}f", file, 8 + size + begin)
    repeats = header[name]["shape"][1] if name == "fp8.scales" else 1
    print(name, *(f"{value:g}" for value in values[::repeats]))
