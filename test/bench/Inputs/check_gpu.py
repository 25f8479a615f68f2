"""Tests the computations of gpu.py on numbers with known results."""
import math
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import gpu  # noqa: E402


def check_summary():
    work = types.SimpleNamespace(flops=4e9, bytes=2e9)
    # Medians are 2 ms and 3 ms; the peer takes longer in each round.
    times = {"ours": [2e-3, 1e-3, 4e-3], "eager": [3e-3, 2e-3, 6e-3]}
    sides = gpu.summarize(work, times)
    ours, eager = sides["ours"], sides["eager"]
    assert math.isclose(ours["median_us"], 2000) and "ratio" not in ours, ours
    assert math.isclose(ours["min_us"], 1000) and math.isclose(ours["max_us"], 4000)
    assert math.isclose(ours["tflops"], 2) and math.isclose(ours["tbytes_per_second"], 1)
    assert math.isclose(eager["ratio"], 1.5), eager
    assert math.isclose(eager["ratio_min"], 1.5) and math.isclose(eager["ratio_max"], 2)
    assert eager["counts"]
    # Which side is faster differs from round to round.
    times["eager"] = [3e-3, 2e-3, 3e-3]
    assert not gpu.summarize(work, times)["eager"]["counts"]
    assert gpu.summarize(work, {"ours": []}) == {}


def check_losses():
    assert gpu.max_difference([1.0, 2.2], [1.0, 2.0]) == (2.2 - 2.0) / 2.0
    assert gpu.max_difference([1.0], [1.0, 2.0]) == math.inf
    assert gpu.max_difference([None], [1.0]) == math.inf
    assert gpu.max_difference([1.0], [math.nan]) == math.inf
    assert gpu.max_difference([], []) == math.inf
    bad = {"losses": {"worst": 0.1, "tolerance": 0.02}}
    assert not gpu.is_sound(bad, False)
    assert gpu.is_sound({"losses": {"worst": 0.01, "tolerance": 0.02}}, False)
    assert not gpu.is_sound({"failures": {"ours": "why"}}, False)
    assert gpu.is_sound({"failures": {"graph": "why"}}, False)


PROFILE = """==PROF== Connected to process 7
{"ready": true}
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","start","dram__bytes.sum","Mbyte","1.00"
"0","start","gpu__time_duration.sum","usecond","9.00"
"""
ROW = """"{0}","rows","dram__bytes.sum","Mbyte","{1}"
"{0}","rows","gpu__time_duration.sum","nsecond","2,000.00"
"""


def check_kernels():
    fewer = gpu.parse_kernels(PROFILE + ROW.format(1, "4.0"))
    assert fewer == {"start": [1, 9.0, 1e6], "rows": [1, 2.0, 4e6]}, fewer
    more = gpu.parse_kernels(PROFILE + ROW.format(1, "4.0") + ROW.format(2, "8.0"))
    # 8 MB in 2 us.
    expected = {"kernel": "rows", "calls": 1, "us": 2.0, "tbytes_per_second": 4.0}
    assert gpu.subtract_kernels(fewer, more) == [expected]
    try:
        gpu.parse_kernels("==ERROR== no permission\n")
    except gpu.Failed as failure:
        assert "no table" in str(failure)
    else:
        raise AssertionError("a profile without a table is taken")


def check_side():
    """A process that exits is a failure with its last output."""
    command = [sys.executable, "-c", "import sys; sys.exit('out of luck')"]
    try:
        gpu.Side("peer", command, gpu.time.monotonic() + 60)
    except gpu.Failed as failure:
        assert str(failure) == "peer: out of luck", failure
    else:
        raise AssertionError("a process without an answer is taken")
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    try:
        gpu.Side("peer", command, gpu.time.monotonic() + 0.2)
    except gpu.Failed as failure:
        assert "no answer within its time" in str(failure), failure
    else:
        raise AssertionError("a process that is stuck is taken")


check_summary()
check_losses()
check_kernels()
check_side()
