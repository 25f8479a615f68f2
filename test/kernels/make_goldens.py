#!/usr/bin/env python3
"""Writes goldens/goldens.txt: results of PyTorch in f64, for the reference kernels.

Needs torch 2.13.0; any later one should do.
Inputs are not stored: both sides compute them from the operand's number.
Each case is
  case KERNEL ATTRIBUTE... ; SHAPE ; SHAPE... = VALUE...
with one shape per operand (extents separated by commas) and the values of the
outputs, in the layout of the shapes.
"""
import contextlib
import pathlib

import torch
import torch.nn.functional as F


def operand(number, shape):
    """Multiples of 1/8 in -4..4 from a linear congruential generator."""
    state, values = number + 1, []
    for _ in range(torch.Size(shape).numel()):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(((state >> 16) % 65 - 32) / 8)
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def emit(kernel, attributes, shapes, outputs):
    shape_text = " ; ".join(",".join(map(str, s)) for s in shapes)
    values = " ".join(f"{v:.17g}" for o in outputs for v in o.flatten().tolist())
    print(f"case {kernel} {' '.join(map(str, attributes))} ; {shape_text} = {values}")


def matmul(lhs, rhs, ta, tb):
    a, b = operand(0, lhs), operand(1, rhs)
    c = torch.matmul(a.mT if ta else a, b.mT if tb else b)
    emit("matmul", [ta, tb], [lhs, rhs, c.shape], [c])


def stored(tensor, last):
    """Converts from channels first, PyTorch's layout, to the layout of the case."""
    return tensor.movedim(1, -1).contiguous() if last else tensor.contiguous()


def image(number, shape, last):
    """The operand whose channels-first shape is `shape`, in the layout of the case."""
    if not last:
        return operand(number, shape)
    moved = [shape[0], *shape[2:], shape[1]]
    return operand(number, moved).movedim(-1, 1).contiguous()


def padded(x, begin, end, value=0.0):
    pads = [p for pair in zip(reversed(begin), reversed(end)) for p in pair]
    return F.pad(x, pads, value=value)


def conv(last, group, n, c, o, extent, kernel, strides, dilations, begin, end):
    attributes = [int(last), group, *strides, *dilations, *begin, *end]
    op = F.conv1d if len(extent) == 1 else F.conv2d
    wshape = [o, c // group, *kernel]

    def forward(x, w, b=None):
        return op(padded(x, begin, end), w, b, strides, 0, dilations, group)

    x, w = image(0, [n, c, *extent], last), operand(1, wshape)
    y = forward(x, w)
    xs, ys = stored(x, last).shape, stored(y, last).shape
    emit("conv", attributes, [xs, wshape, ys], [stored(y, last)])
    y = forward(x, w, operand(2, [o]))
    emit("conv_bias", attributes, [xs, wshape, [o], ys], [stored(y, last)])

    dy, x = image(0, list(y.shape), last), torch.zeros_like(x).requires_grad_()
    forward(x, w).backward(dy)
    emit("conv_grad_input", attributes, [ys, wshape, xs], [stored(x.grad, last)])

    x, w = image(1, list(x.shape), last), torch.zeros_like(w).requires_grad_()
    forward(x, w).backward(dy)
    emit("conv_grad_weight", attributes, [ys, xs, wshape], [w.grad])


def max_pool(last, n, c, extent, kernel, strides, dilations, begin, end):
    attributes = [int(last), *kernel, *strides, *dilations, *begin, *end]
    pool = F.max_pool1d if len(extent) == 1 else F.max_pool2d
    x = image(0, [n, c, *extent], last).requires_grad_()
    p = padded(x, begin, end, -torch.inf)
    y, flat = pool(p, kernel, strides, 0, dilations, return_indices=True)

    # Convert positions in the padded image to positions in the window.
    width = p.shape[-1]
    coordinates = [flat] if len(extent) == 1 else [flat // width, flat % width]
    position = torch.zeros_like(flat)
    for d, at in enumerate(coordinates):
        view = [1] * y.dim()
        view[2 + d] = -1
        start = torch.arange(y.shape[2 + d]).reshape(view) * strides[d]
        position = position * kernel[d] + (at - start) // dilations[d]
    xs, ys = stored(x, last).shape, stored(y, last).shape
    emit("max_pool", attributes, [xs, ys, ys],
         [stored(y.detach(), last), stored(position, last)])

    # Indices are an operand here, so the case stores them as its last output.
    dy = image(0, list(y.shape), last)
    y.backward(dy)
    emit("max_pool_grad", attributes, [ys, ys, xs],
         [stored(x.grad, last), stored(position, last)])


def average_pool(last, include, n, c, extent, kernel, strides, begin, end):
    attributes = [int(last), int(include), *kernel, *strides, *[1] * len(extent), *begin, *end]
    pool = F.avg_pool1d if len(extent) == 1 else F.avg_pool2d

    def forward(x):
        ones = padded(torch.ones_like(x), begin, end)
        y = pool(padded(x, begin, end), kernel, strides)
        return y if include else y / pool(ones, kernel, strides)

    x = image(0, [n, c, *extent], last).requires_grad_()
    y = forward(x)
    xs, ys = stored(x, last).shape, stored(y, last).shape
    emit("average_pool", attributes, [xs, ys], [stored(y.detach(), last)])
    y.backward(image(0, list(y.shape), last))
    emit("average_pool_grad", attributes, [ys, xs], [stored(x.grad, last)])


def embedding(table, indices):
    """Indices are the values times 8, modulo the rows, with their signs."""
    x, i = operand(0, table), torch.fmod(8 * operand(1, indices), table[0]).long()
    y = F.embedding(i % table[0], x.reshape(table[0], -1)).reshape(indices + table[1:])
    emit("embedding", [], [table, indices, y.shape], [y])
    w = torch.zeros(table[0], y[0].numel() // torch.Size(indices[1:]).numel(),
                    dtype=torch.float64, requires_grad=True)
    F.embedding(i % table[0], w).reshape(y.shape).backward(operand(0, y.shape))
    emit("embedding_grad", [], [y.shape, indices, table], [w.grad])


def main():
    torch.manual_seed(0)
    for ta in 0, 1:
        for tb in 0, 1:
            matmul([7, 3] if ta else [3, 7], [5, 7] if tb else [7, 5], ta, tb)
    matmul([2, 1, 3, 4], [5, 4, 2], 0, 0)
    matmul([4, 2], [3, 5, 2, 4], 1, 1)
    matmul([2, 3, 2, 4], [2, 3, 4, 1], 0, 0)
    matmul([1, 1], [1, 1], 0, 0)
    matmul([2, 1, 2, 3], [1, 3, 3, 2], 0, 0)

    for last in False, True:
        conv(last, 1, 2, 3, 4, [5, 6], [3, 2], [1, 1], [1, 1], [1, 0], [1, 1])
        conv(last, 2, 1, 4, 6, [7, 5], [3, 3], [2, 1], [1, 2], [0, 2], [2, 1])
        conv(last, 3, 2, 3, 3, [4, 4], [2, 3], [1, 3], [2, 1], [1, 1], [1, 2])
        conv(last, 1, 2, 2, 3, [9], [3], [2], [2], [1], [2])
        conv(last, 1, 1, 1, 1, [1, 1], [1, 1], [1, 1], [1, 1], [0, 0], [0, 0])

        max_pool(last, 2, 3, [6, 5], [2, 2], [2, 2], [1, 1], [0, 0], [0, 1])
        max_pool(last, 1, 2, [7, 8], [3, 2], [2, 1], [2, 1], [1, 0], [2, 1])
        max_pool(last, 2, 2, [9], [3], [2], [2], [1], [3])
        max_pool(last, 1, 1, [4, 4], [4, 4], [1, 1], [1, 1], [3, 3], [3, 3])

        for include in False, True:
            average_pool(last, include, 2, 3, [6, 5], [2, 3], [2, 1], [0, 1], [1, 2])
            average_pool(last, include, 1, 2, [7], [3], [2], [1], [2])

    embedding([5, 3], [11])
    embedding([40, 2, 3], [3, 4])
    embedding([1, 4], [2])


if __name__ == "__main__":
    goldens = pathlib.Path(__file__).resolve().parent / "goldens/goldens.txt"
    with goldens.open("w") as file, contextlib.redirect_stdout(file):
        main()
