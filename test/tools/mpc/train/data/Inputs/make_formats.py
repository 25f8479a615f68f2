"""make_formats.py FOLDER: writes the same samples in all formats of mpc's data.

x has 50 rows of three float32 numbers; labels are classes 0, 1, 2. Neither NumPy nor
other packages are needed.
"""
import json
import pathlib
import random
import struct
import sys
import zipfile

folder = pathlib.Path(sys.argv[1])
random.seed(1)
SAMPLES = 50


def single(value):
    """The nearest float32 number."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


rows = [[single(random.gauss(0, 1)) for _ in range(3)] for _ in range(SAMPLES)]
rows[3] = [0.0, 1.0, -2.0]
labels = [max(range(3), key=row.__getitem__) for row in rows]
x = struct.pack(f"<{3 * SAMPLES}f", *sum(rows, []))
y = struct.pack(f"<{SAMPLES}q", *labels)


def npy(letters, shape, data):
    header = str({"descr": letters, "fortran_order": False, "shape": shape})
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def arrays(begin, end):
    count = end - begin
    return {
        "x": npy("<f4", (count, 3), x[12 * begin : 12 * end]),
        "labels": npy("<i8", (count,), y[8 * begin : 8 * end]),
    }


def write_npz(name, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(folder / name, "w", compression) as archive:
        for member, data in members.items():
            archive.writestr(member + ".npy", data)


def write_table(name, separator, begin=0, end=SAMPLES, names="abc"):
    lines = [separator.join([*names, "labels"])]
    lines += [separator.join(map(repr, [*rows[i], labels[i]])) for i in range(begin, end)]
    (folder / name).write_text("\n".join(lines) + "\n")


write_npz("stored.npz", arrays(0, SAMPLES))
write_npz("deflated.npz", arrays(0, SAMPLES), zipfile.ZIP_DEFLATED)
(folder / "npy").mkdir()
for name, data in arrays(0, SAMPLES).items():
    (folder / "npy" / f"{name}.npy").write_bytes(data)
(folder / "parts").mkdir()
for i, (begin, end) in enumerate([(0, 7), (7, 7), (7, 40), (40, SAMPLES)]):
    write_npz(f"parts/{i}.npz", arrays(begin, end))
    write_table(f"part-{i}.csv", ",", begin, end)

header = {
    "__metadata__": {"format": "pt"},
    "x": {"dtype": "F32", "shape": [SAMPLES, 3], "data_offsets": [0, len(x)]},
    "labels": {"dtype": "I64", "shape": [SAMPLES], "data_offsets": [len(x), len(x) + len(y)]},
}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
(folder / "data.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + x + y)

write_table("data.csv", ",")
write_table("data.tsv", "\t")
write_table("semicolons.csv", ";")
species = ["ash", "birch", "cedar, red"]


def write_trees(name, wanted):
    with open(folder / name, "w", newline="") as file:
        # A byte order mark, CRLF, quotes, an empty line, spaces, and a column of texts that is not used.
        file.write('\ufefftree,"height ""m""",a,b,note\r\n\r\n')
        for row, label in zip(rows, labels):
            if label in wanted:
                file.write(f'"{species[label]}", {row[2]!r} ,{row[0]!r},"{row[1]!r}","a\nb"\r\n')


write_trees("trees.csv", {0, 1, 2})
write_trees("without-ash.csv", {1, 2})
with open(folder / "data.jsonl", "w") as file:
    for row, label in zip(rows, labels):
        file.write(json.dumps({"x": row, "labels": label, "tree": species[label]}) + "\n")
