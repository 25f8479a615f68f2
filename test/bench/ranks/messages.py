"""Microseconds of a call in which two ranks send each other 8 bytes, for RankEstimate.h:

    PYTHONPATH=build/python mpirun -n 2 PYTHON test/bench/ranks/messages.py

By TCP instead of shared memory (Open MPI): mpirun --mca btl tcp,self --mca pml ob1 -n 2 ...
"""

import time

import mpc

CALLS = 20_000

with mpc.communicator() as ranks:
    for _ in range(CALLS // 10):
        ranks.gather_number(1)
    begin, used = time.perf_counter(), time.process_time()
    for _ in range(CALLS):
        ranks.gather_number(1)
    begin, used = time.perf_counter() - begin, time.process_time() - used
    if ranks.rank == 0:
        print(f"{1e6 * begin / CALLS:.2f} us; the process needs {1e6 * used / CALLS:.2f} of a core")
