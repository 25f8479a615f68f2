"""rename_tensors.py IN.safetensors OUT.safetensors [--prefix=P] [--drop=NAME] [--f64]:
copies tensors of f32 under other names, with a counter of batches beside them."""
import json
import struct
import sys

source, target, *options = sys.argv[1:]
option = dict(text.lstrip("-").partition("=")[::2] for text in options)
data = open(source, "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + size])
header.pop("__metadata__", None)
tensors, body = {}, b""


def add(name, dtype, shape, content):
    global body
    offsets = [len(body), len(body) + len(content)]
    tensors[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
    body += content


for name, tensor in header.items():
    if name == option.get("drop"):
        continue
    begin, end = tensor["data_offsets"]
    content, dtype = data[8 + size + begin : 8 + size + end], tensor["dtype"]
    if "f64" in option:
        values = struct.unpack(f"<{len(content) // 4}f", content)
        content, dtype = struct.pack(f"<{len(values)}d", *values), "F64"
    add(option.get("prefix", "") + name, dtype, tensor["shape"], content)
add("bn.num_batches_tracked", "I64", [], struct.pack("<q", 7))
text = json.dumps(tensors).encode()
open(target, "wb").write(struct.pack("<Q", len(text)) + text + body)
