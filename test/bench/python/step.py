"""Microseconds that mpc.Session.step takes more than mpc_session_step.

    PYTHONPATH=build/python build/python-venv/bin/python test/bench/python/step.py MODEL.mpc [STEPS]

Both train the same session on the same batch and take turns, step by step; the C function is
called by ctypes with tensors that are made before. What ctypes takes (about 1 us) is measured
with a function that returns at once, and subtracted.
"""

import ctypes
import pathlib
import statistics
import sys
import time

import numpy as np

import mpc


class Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_uint32),
                ("rank", ctypes.c_uint32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p), ("kind", ctypes.c_uint32), ("index", ctypes.c_int32)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_char_p),
                ("threads", ctypes.c_uint32)]


DTYPES = {"float32": 1, "float16": 2, "float64": 4, "int64": 5, "int32": 6, "uint8": 7, "bool": 8}


def make_batch(program):
    random = np.random.default_rng(1)
    return {
        spec.name: random.integers(0, 10, spec.shape).astype(spec.dtype)
        if spec.dtype.kind in "iu"
        else random.random(spec.shape).astype(spec.dtype)
        for spec in program.inputs()
    }


def main(path, steps=10_000):
    program = mpc.Program.load(path)
    batch = make_batch(program)
    library = ctypes.CDLL(next(
        line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
        if "libmpcrt" in line
    ))
    handle, session_handle = ctypes.c_void_p(), ctypes.c_void_p()
    assert not library.mpc_program_load_file(str(path).encode(), ctypes.byref(handle))
    room = (ctypes.c_char * 256)()  # As large as mpc_session_options_t, and zero.
    options = SessionOptions.from_buffer(room)
    options.struct_size, options.device, options.threads = 40, b"cpu", 1
    assert not library.mpc_session_create(handle, room, ctypes.byref(session_handle))
    tensors = (Tensor * len(batch))(*(
        Tensor(ctypes.sizeof(Tensor), DTYPES[array.dtype.name], array.ndim,
               array.ctypes.shape_as(ctypes.c_int64), array.ctypes.data, 0, 0)
        for array in batch.values()
    ))
    info = (ctypes.c_char * 64)()
    ctypes.c_size_t.from_buffer(info).value = 64
    call, nothing = library.mpc_session_step, library.mpc_status_free
    times = {"python": [], "c": [], "ctypes": []}
    clock = time.perf_counter_ns
    with mpc.Session(program, device="cpu", threads=1) as session:
        for _ in range(steps):
            begin = clock()
            session.step(batch)
            python = clock()
            status = call(session_handle, tensors, len(batch), info)
            c = clock()
            nothing(None)
            end = clock()
            assert not status
            for name, time_ in (("python", python - begin), ("c", c - python), ("ctypes", end - c)):
                times[name].append(time_ / 1000)
    median = {name: statistics.median(values) for name, values in times.items()}
    more = median["python"] - (median["c"] - median["ctypes"])
    print(f"mpc.Session.step {median['python']:.2f} us, mpc_session_step "
          f"{median['c'] - median['ctypes']:.2f} us, difference {more:.2f} us")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
