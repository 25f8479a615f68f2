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


for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    for event in records(path.read_bytes()):
        assert struct.unpack("<d", event[1])[0] > 1.7e9, "not a time"
        if 3 in event:
            print(f"version {event[3].decode()}")
        if 7 in event:
            print(f"step {event[2]}: session {dict(fields(event[7]))}")
        if 5 in event:
            scalar = dict(fields(dict(fields(event[5]))[1]))
            value = struct.unpack("<f", scalar[2])[0]
            print(f"step {event[2]}: {scalar[1].decode()} {value:.6g}")
