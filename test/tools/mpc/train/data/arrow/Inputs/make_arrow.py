"""make_arrow.py FOLDER: writes the Parquet and Arrow files of this folder, and those of
test/fuzz/data, with pyarrow (build/arrow/bin/python). FOLDER has the same samples as
../../Inputs/make_formats.py has written them.
"""
import decimal
import io
import json
import pathlib
import sys

import pyarrow as pa
from pyarrow import feather, parquet

here = pathlib.Path(__file__).parent
corpus = here.parents[6] / "test/fuzz/data"


def write_parquet(name, table, **options):
    parquet.write_table(table, here / name, **options)


def write_file(name, table, rows, new=pa.ipc.new_file):
    with new(here / name, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)


# The samples of make_formats.py.
lines = [json.loads(line) for line in open(pathlib.Path(sys.argv[1]) / "data.jsonl")]
x = [line["x"] for line in lines]
labels = [line["labels"] for line in lines]
tree = [line["tree"] for line in lines]
a, b, c = (pa.array(column, pa.float32()) for column in zip(*x))
rows = pa.table({"x": pa.array(x, pa.list_(pa.float32(), 3)), "labels": labels, "tree": pa.array(tree).dictionary_encode()})
write_parquet("data.parquet", rows, row_group_size=20, compression="snappy")
columns = pa.table({"a": a, "b": b, "c": c, "labels": pa.array(labels, pa.int32())})
for i, (begin, end) in enumerate([(0, 7), (7, 7), (7, 50)]):
    write_parquet(f"part-{i}.parquet", columns.slice(begin, end - begin))
# As pandas writes a table whose rows were shuffled.
write_parquet("pandas.parquet", columns.append_column("__index_level_0__", pa.array(range(50))), compression="zstd")
write_parquet("trees.parquet", pa.table({"tree": tree, 'height "m"': c.cast(pa.float64()), "a": a, "b": b, "note": ["a\nb"] * 50}))
lists = pa.table({"x": pa.array(x, pa.list_(pa.float64())), "labels": pa.array(labels, pa.uint8())})
write_file("data.arrow", lists, 7)
write_file("stream.arrow", lists, 9, pa.ipc.new_stream)
feather.write_feather(pa.table({"x": pa.array(x, pa.large_list(pa.float32())), "labels": labels}), str(here / "data.feather"), compression="lz4")

# All types that are read, with extreme values.
types = {
    "bool": pa.array([True, False, True]),
    **{f"int{n}": pa.array([-(2 ** (n - 1)), 0, 2 ** (n - 1) - 1], getattr(pa, f"int{n}")()) for n in (8, 16, 32, 64)},
    **{f"uint{n}": pa.array([0, 1, 2**n - 1], getattr(pa, f"uint{n}")()) for n in (8, 16, 32, 64)},
    "half": pa.array([0.5, -2.0, float("inf")], pa.float16()),
    "float": pa.array([0.1, -1e30, float("nan")], pa.float32()),
    "double": pa.array([0.1, -1e300, 5e-324]),
    "text": pa.array(["pine", "", "ash"]),
    "large": pa.array(["b", "a", "b"], pa.large_string()),
    "view": pa.array(["short", "longer than twelve bytes", "short"], pa.string_view()),
    "digits": pa.array(["3", "+1", " 2"]),
    "category": pa.array(["z", "y", "z"]).dictionary_encode(),
    "numbers": pa.array([300, 7, 300]).dictionary_encode(),
    "fixed": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int8(), 2)),
    "list": pa.array([[True], [False], [True]], pa.list_(pa.bool_())),
    "nested": pa.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]], pa.list_(pa.large_list(pa.int16()))),
    "texts": pa.array([["a", "b"], ["b", "b"], ["a", "a"]]),
}
table = pa.table(types)
write_parquet("types.parquet", table)
write_file("types.arrow", table, 2)
write_file("empty.arrow", table.slice(0, 0), 2)

# What is refused.
write_parquet("refused.parquet", pa.table({
    "null": pa.array([1.0, 2.0, None]),
    "null text": pa.array(["a", None, "b"]),
    "null in list": pa.array([[1], [None], [3]], pa.list_(pa.int64(), 1)),
    "null list": pa.array([[1], [2], None], pa.list_(pa.int64())),
    "null category": pa.array(["a", None, "a"]).dictionary_encode(),
    "ragged": pa.array([[1, 2], [3, 4], [5]]),
    "date": pa.array([0, 1, 2], pa.date32()),
    "decimal": pa.array([decimal.Decimal("1.5")] * 3),
    "struct": pa.array([{"f": 1}] * 3),
    "bytes": pa.array([b"a", b"b", b"c"]),
}))  # fmt: skip
write_parquet("twice.parquet", pa.table([a[:2], b[:2]], names=["a", "a"]))

# Small files for test/fuzz/data.
small = pa.table({"v": [1.0, 2.0, 3.0], "l": [[1, 2], [3, 4], [5, 6]], "t": ["a", "b", "a"], "d": pa.array(["x", "y", "x"]).dictionary_encode()})
for name, new in [("arrow", pa.ipc.new_file), ("arrow-stream", pa.ipc.new_stream)]:
    sink = io.BytesIO()
    with new(sink, small.schema) as writer:
        writer.write_table(small)
    (corpus / name).write_bytes(b"a" + sink.getvalue())
sink = io.BytesIO()
parquet.write_table(small, sink, compression="snappy")
(corpus / "parquet").write_bytes(b"a" + sink.getvalue())
