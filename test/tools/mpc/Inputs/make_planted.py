"""Prints a classifier of digits with a product whose operand does not fit fp16."""

import random

random.seed(1)


def tensor(name, *shape, size):
    count = 1
    for extent in shape:
        count *= extent
    values = ", ".join(f"{random.uniform(-size, size):.6f}" for _ in range(count))
    dims = ", ".join(map(str, shape))
    return f"float[{dims}] {name} = {{{values}}}"


weights = [
    tensor("w1", 64, 16, size=0.35),
    tensor("w2", 16, 16, size=0.7),
    tensor("w3", 16, 16, size=0.7),
    tensor("w4", 16, 10, size=0.5),
]
print(
    f"""<ir_version: 9, opset_import: ["" : 20]>
planted (float[N, 1, 8, 8] images, {", ".join(weights)}) => (float[N, 10] logits)
{{
  rows = Flatten (images)
  first = MatMul (rows, w1)
  relu1 = Relu (first)
  up = Constant <value = float {{1000000}}> ()
  down = Constant <value = float {{0.000001}}> ()
  large = Mul (relu1, up)
  planted = MatMul (large, w2)
  scaled = Mul (planted, down)
  tanh = Tanh (scaled)
  third = MatMul (tanh, w3)
  relu2 = Relu (third)
  logits = MatMul (relu2, w4)
}}"""
)
