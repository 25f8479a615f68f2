"""show.py FILE.npz: prints the float32 arrays of a file, rounded, without NumPy."""
import pathlib
import struct
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as archive:
    for name in archive.namelist():
        data = archive.read(name)
        data = data[10 + struct.unpack("<H", data[8:10])[0] :]
        values = struct.unpack(f"<{len(data) // 4}f", data)
        print(pathlib.Path(name).stem, *(round(value, 5) + 0.0 for value in values))
