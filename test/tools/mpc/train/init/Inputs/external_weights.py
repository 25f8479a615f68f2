"""external_weights.py MODEL.safetensors FOLDER: writes the tensors as initializers of an
ONNX model with external data: FOLDER/model.textproto and FOLDER/weights.bin;
FOLDER/outside.textproto has data outside of the folder, and FOLDER/twice.textproto two
initializers with the same name. The models have no nodes."""
import json
import struct
import sys

source, folder = sys.argv[1:]
data = open(source, "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + size])
header.pop("__metadata__", None)


def write(name, location, constants=1):
    with open(f"{folder}/{name}.textproto", "w") as file:
        file.write("ir_version: 8\nopset_import { version: 17 }\ngraph {\n")
        for tensor, info in header.items():
            begin, end = info["data_offsets"]
            entries = {"location": location, "offset": begin, "length": end - begin}
            dims = " ".join(f"dims: {extent}" for extent in info["shape"])
            stored = " ".join(f'external_data {{ key: "{k}" value: "{v}" }}' for k, v in entries.items())
            file.write(f'  initializer {{ name: "{tensor}" data_type: 1 {dims} data_location: EXTERNAL {stored} }}\n')
        # A constant, which the program does not have.
        file.write('  initializer { name: "two" data_type: 1 float_data: 2 }\n' * constants + "}\n")


with open(f"{folder}/weights.bin", "wb") as file:
    file.write(data[8 + size :])
write("model", "weights.bin")
write("outside", "../weights.bin")
write("twice", "weights.bin", constants=2)
