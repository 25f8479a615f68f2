"""One rank of PyTorch's side of against_ddp.py, started by torchrun:

    ddp_worker.py NAME BACKEND SECONDS PRECISION

The first rank prints the seconds of a step: the median, and all ranks make the same steps.
"""

import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from models.worker import Training, make_case


def main():
    name, backend, seconds, precision = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    case = make_case({"name": name, "tiny": False})
    case.module = DistributedDataParallel(case.module, gradient_as_bucket_view=True)
    training = Training(case, precision=precision)
    for _ in range(3):
        training.step()
    times = []
    go = torch.ones(1)
    begin = time.perf_counter()
    while True:
        start = time.perf_counter()
        training.step().item()
        times.append(time.perf_counter() - start)
        # The first rank decides when to stop.
        go[0] = time.perf_counter() - begin < float(seconds) or len(times) < 3
        dist.broadcast(go, 0)
        if not go[0]:
            break
    if dist.get_rank() == 0:
        print(statistics.median(times), flush=True)
    dist.destroy_process_group()
    # Without exit handlers: PyTorch's gloo sometimes aborts in them.
    os._exit(0)


if __name__ == "__main__":
    main()
