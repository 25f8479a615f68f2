"""make_texts.py: writes a text, the same samples as arrays, and a model of pairs of bytes."""
import random
import struct
import zipfile

random.seed(5)
LENGTH, STRIDE = 6, 4
text = "".join(random.choice(["ab", "abc"]) for _ in range(60)).encode()
with open("text.txt", "wb") as file:
    file.write(text)


def npy(rows, letters, code):
    header = str({"descr": letters, "fortran_order": False, "shape": (len(rows), len(rows[0]))})
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    data = b"".join(struct.pack(f"<{len(row)}{code}", *row) for row in rows)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


starts = range(0, len(text) - LENGTH, STRIDE)
with zipfile.ZipFile("arrays.npz", "w") as archive:
    archive.writestr("ids.npy", npy([text[i : i + LENGTH] for i in starts], "<i8", "q"))
    archive.writestr("labels.npy", npy([text[i + 1 : i + 1 + LENGTH] for i in starts], "<i8", "q"))
    archive.writestr("attention_mask.npy", npy([[1] * LENGTH for _ in starts], "<f4", "f"))

row = npy([text], "<u2", "H").replace(b"(1, %d)" % len(text), b"(%d,)  " % len(text))
with open("row.npy", "wb") as file:
    file.write(row)

zeros = ", ".join(["0"] * 128 * 128)
with open("pairs.onnxtxt", "w") as file:
    file.write(
        '<ir_version: 8, opset_import: ["" : 17]>\n'
        "pairs (int64[N,6] ids, float[N,6] attention_mask) => (float[N,6,128] logits)\n"
        f"<float[128,128] table = {{{zeros}}}, int64[1] two = {{2}}>\n"
        "{ rows = Gather(table, ids)   mask = Unsqueeze(attention_mask, two)   logits = Mul(rows, mask) }\n"
    )
