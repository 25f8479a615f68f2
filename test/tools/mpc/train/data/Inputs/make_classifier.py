"""make_classifier.py FILE: a linear classifier of 8 x 8 images with two classes, as text."""
import random
import sys

random.seed(3)
weights = ", ".join(f"{random.uniform(-0.1, 0.1):.4f}" for _ in range(2 * 192))
with open(sys.argv[1], "w") as file:
    file.write(
        '<ir_version: 8, opset_import: ["" : 17]>\n'
        "net (float[N,3,8,8] image) => (float[N,2] scores)\n"
        f"<float[192,2] w = {{{weights}}}>\n"
        "{ x = Flatten(image)   scores = MatMul(x, w) }\n"
    )
