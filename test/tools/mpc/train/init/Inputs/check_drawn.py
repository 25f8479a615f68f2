"""check_drawn.py MODEL.safetensors NAME=DISTRIBUTION...: fails unless tensors of f32 look
like samples of a distribution: 'uniform:BOUND', 'normal:DEVIATION', 'trunc-normal:DEVIATION'
(of the normal distribution that is cut off at two deviations), a number for all elements, or
'OTHER.safetensors' for the same values as there.

Bounds allow five standard errors: a correct generator fails once in a million times, and
seeds are fixed."""
import json
import math
import struct
import sys


def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, tensor in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in tensor["data_offsets"])
            tensors[name] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return tensors


def check_moments(values, deviation, kurtosis):
    """Compares mean and standard deviation; the kurtosis gives the error of the latter."""
    count = len(values)
    mean = sum(values) / count
    found = math.sqrt(sum((value - mean) ** 2 for value in values) / count)
    assert abs(mean) < 5 * deviation / math.sqrt(count), mean
    error = deviation * math.sqrt((kurtosis - 1) / (4 * count))
    assert abs(found - deviation) < 5 * error, (found, deviation)


def share(values, bound):
    return sum(abs(value) < bound for value in values) / len(values)


def check_share(values, bound, expected):
    error = math.sqrt(expected * (1 - expected) / len(values))
    assert abs(share(values, bound) - expected) < 5 * error, share(values, bound)


def check(values, wanted):
    kind, _, number = wanted.partition(":")
    if kind == "uniform":
        bound = float(number)
        assert 0.98 * bound < max(map(abs, values)) <= bound * (1 + 1e-6), max(values)
        check_moments(values, bound / math.sqrt(3), 1.8)
        check_share(values, bound / 2, 0.5)
    elif kind == "normal":
        check_moments(values, float(number), 3)
        check_share(values, float(number), math.erf(1 / math.sqrt(2)))
        assert max(map(abs, values)) > 2.2 * float(number)
    elif kind == "trunc-normal":
        # The standard normal distribution between -2 and 2.
        mass = math.erf(math.sqrt(2))
        density = math.exp(-2) / math.sqrt(2 * math.pi)
        variance = 1 - 4 * density / mass
        fourth = 3 * variance - 16 * density / mass
        check_moments(values, float(number) * math.sqrt(variance), fourth / variance**2)
        assert 1.9 * float(number) < max(map(abs, values)) <= 2 * float(number)
    else:
        assert all(value == float(wanted) for value in values), values[:4]


path, *rules = sys.argv[1:]
tensors = read(path)
for rule in rules:
    name, _, wanted = rule.partition("=")
    try:
        if wanted.endswith(".safetensors"):
            assert tensors[name] == read(wanted)[name], "different values"
        else:
            check(tensors[name], wanted)
    except AssertionError as error:
        sys.exit(f"{path}: {rule}: {error}")
    if not wanted.endswith(".safetensors") and ":" in wanted:
        assert len(set(tensors[name])) > 0.8 * len(tensors[name]), f"{name} repeats"
