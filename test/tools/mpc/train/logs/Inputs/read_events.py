"""read_events.py FOLDER: checks the event files for TensorBoard in a folder, oldest
first, and prints what they contain, a line for each event. Written from the formats of
TFRecord and event.proto alone."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[5]))
from protobuf import fields


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def check(data, found):
    crc = crc32c(data)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert masked == found, "wrong checksum"


def records(data):
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        check(data[at : at + 8], *struct.unpack_from("<I", data, at + 8))
        event = data[at + 12 : at + 12 + size]
        check(event, *struct.unpack_from("<I", data, at + 12 + size))
        at += 16 + size
        yield dict(fields(event))


def distribution(histogram):
    """Checks a HistogramProto, and returns its count and range."""
    least, most, count, total, squares = (
        struct.unpack("<d", histogram[field])[0] for field in range(1, 6)
    )
    ends, counts = ([x for x, in struct.iter_unpack("<d", histogram[field])] for field in (6, 7))
    assert sum(counts) == count and len(ends) == len(counts) and ends == sorted(ends)
    assert min(counts) >= 0 and least <= ends[0] and ends[-1] == most
    # The mean lies in the range, and so does what the intervals say about it.
    width = (most - least) / len(ends)
    middle = sum((end - width / 2) * n for end, n in zip(ends, counts)) / count
    assert abs(middle - total / count) <= width / 2 + 1e-6 * (most - least)
    assert squares >= total * total / count * (1 - 1e-9)
    return f"{count:.0f} values in {len(ends)} intervals"


for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    for event in records(path.read_bytes()):
        assert struct.unpack("<d", event[1])[0] > 1.7e9, "not a time"
        if 3 in event:
            print(f"version {event[3].decode()}")
        if 7 in event:
            print(f"step {event[2]}: session {dict(fields(event[7]))}")
        if 5 in event:
            value = dict(fields(dict(fields(event[5]))[1]))
            name = f"step {event[2]}: {value[1].decode()}"
            if 2 in value:
                print(f"{name} {struct.unpack('<f', value[2])[0]:.6g}")
            else:
                print(f"{name} {distribution(dict(fields(value[5])))}")
