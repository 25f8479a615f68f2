#!/usr/bin/env python3
"""PyTorch's side of gpu.py: builds the twin of one ONNX model with the model's
own weights, then answers each line on stdin with one line of JSON:

    steps N     seconds of N steps, by the clock and by the device's events
    losses N    the losses of N steps
    kernels N   time in each of the device's kernels over N steps

usage: gpu_torch.py '{"twin": [...], "model": ..., "data": ..., "mode": ...}'

With the twin "ceilings" it answers `gemm` and `copy` instead: what this GPU does
at best.
"""
import contextlib
import json
import sys
import time

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

from side import say, serve

WARM_UP = 10


class Perceptron(nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        self.layers = layers
        for i in range(layers):
            self.add_module(f"fc{i}", nn.Linear(width, width))

    def forward(self, x):
        for i in range(self.layers):
            x = getattr(self, f"fc{i}")(x)
            if i + 1 < self.layers:
                x = functional.relu(x)
        return x


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * self.weight


class Rows(nn.Module):
    def __init__(self, width, norm):
        super().__init__()
        self.scale = Scale(width)
        self.norm = nn.LayerNorm(width) if norm else nn.Identity()

    def forward(self, x):
        return self.norm(self.scale(x))


class DigitsMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 256)
        self.norm = nn.LayerNorm(256)
        self.dropout = nn.Dropout(0.1)
        self.fc2 = nn.Linear(256, 10)

    def forward(self, images):
        x = functional.gelu(self.norm(self.fc1(images.flatten(1))))
        return self.fc2(self.dropout(x))


class DigitsCnn(nn.Module):
    def __init__(self):
        super().__init__()
        for i, channels in enumerate((1, 32, 32, 32), 1):
            self.add_module(
                f"conv{i}", nn.Conv2d(channels, 32, 3, padding=1, bias=False)
            )
            self.add_module(f"bn{i}", nn.BatchNorm2d(32))
        self.fc = nn.Linear(32, 10)

    def forward(self, images):
        x = functional.relu(self.bn1(self.conv1(images)))
        shortcut = x = functional.max_pool2d(x, 2)
        x = functional.relu(self.bn2(self.conv2(x)))
        x = functional.relu(self.bn3(self.conv3(x)) + shortcut)
        x = functional.relu(self.bn4(self.conv4(x)))
        return self.fc(x.mean((2, 3)))


class Gpt2Layer(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        wide = functional.gelu(self.up(self.ln2(x)), approximate="tanh")
        return x + self.down(wide)


class Gpt2(nn.Module):
    def __init__(self, layers, heads, width, length, vocabulary):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Parameter(torch.zeros(length, width))
        self.layers = layers
        for i in range(layers):
            self.add_module(f"h{i}", Gpt2Layer(heads, width))
        self.ln = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe
        for i in range(self.layers):
            x = getattr(self, f"h{i}")(x)
        return functional.linear(self.ln(x).flatten(0, 1), self.wte.weight)


TWINS = {twin.__name__: twin for twin in (Perceptron, Rows, DigitsMlp, DigitsCnn, Gpt2)}


def make_model(twin, path):
    """The twin with the weights of the ONNX model; every weight is used."""
    model = TWINS[twin[0]](*twin[1:])
    weights = {
        tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy())
        for tensor in load_initializers(path)
    }
    ratio = weights.pop("dropout.ratio", None)
    if ratio is not None:
        model.dropout.p = float(ratio)
    missing, unused = model.load_state_dict(weights, strict=False)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    if missing or unused:
        sys.exit(f"gpu_torch.py: {path} lacks {missing} and has besides {unused}")
    return model


def load_initializers(path):
    return onnx.load(path).graph.initializer


class Training:
    """One model with its optimizer and one batch; `step` is what is timed."""

    def __init__(self, job):
        self.device = job["device"]
        self.on_gpu = self.device.startswith("cuda")
        self.only_update = job["part"] == "apply"
        self.low = job["precision"] == "bf16"
        self.model = make_model(job["twin"], job["model"]).to(self.device)
        arrays = np.load(job["data"])
        names = [name for name in arrays.files if name != "labels"]
        host = [torch.from_numpy(arrays[name]) for name in (*names, "labels")]
        if self.on_gpu and job["twin"][0] == "DigitsCnn":
            # The layout PyTorch recommends for convolutions in 16 bit.
            self.model = self.model.to(memory_format=torch.channels_last)
        self.inputs = [tensor.to(self.device) for tensor in host]
        # Inputs on the host are copied in every step.
        self.host = None
        if job["inputs"] == "host":
            self.host = [t.pin_memory() if self.on_gpu else t for t in host]
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=job["rate"],
            fused=True,
            capturable=self.on_gpu,
        )
        self.mode = job["mode"]
        self.graph = None
        forward = self.compute_loss
        if self.mode in ("compile", "graph"):
            forward = torch.compile(forward)
        elif self.mode == "reduce-overhead":
            forward = torch.compile(forward, mode="reduce-overhead")
        self.forward = forward

    def compute_loss(self, x, labels):
        low = contextlib.nullcontext()
        if self.low:
            low = torch.autocast(self.device.split(":")[0], torch.bfloat16)
        with low:
            return functional.cross_entropy(self.model(x), labels.flatten())

    def backward(self):
        if self.mode == "reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward(*self.inputs)
        loss.backward()
        return loss

    def compute(self):
        if self.only_update:
            self.optimizer.step()
            return None
        loss = self.backward()
        self.optimizer.step()
        return loss

    def step(self):
        if self.host:
            for device, host in zip(self.inputs, self.host):
                device.copy_(host, non_blocking=True)
        if self.graph is None:
            return self.compute()
        self.graph.replay()
        return self.captured_loss

    def wait(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def warm_up(self):
        if self.only_update:
            self.backward()
        if self.mode != "graph":
            for _ in range(WARM_UP):
                self.step()
            return
        # Warm up on another stream first, as PyTorch's notes on CUDA graphs say.
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self.compute()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.captured_loss = self.compute()
        for _ in range(WARM_UP):
            self.step()

    def time(self, steps):
        self.wait()
        events = None
        if self.on_gpu:
            events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        start = time.perf_counter()
        if events:
            events[0].record()
        for _ in range(steps):
            self.step()
        if events:
            events[1].record()
        self.wait()
        answer = {"seconds": time.perf_counter() - start}
        if events:
            answer["event_seconds"] = events[0].elapsed_time(events[1]) / 1e3
        return answer

    def losses(self, steps):
        return {"losses": [float(self.step().detach()) for _ in range(steps)]}

    def kernels(self, steps):
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as found:
            for _ in range(steps):
                self.step()
            self.wait()
        rows = [
            {
                "kernel": event.key,
                "calls": event.count / steps,
                "us": event.self_device_time_total / steps,
            }
            for event in found.key_averages()
            if event.self_device_time_total > 0
        ]
        return {"kernels": sorted(rows, key=lambda row: -row["us"])}


class Ceilings:
    """The peak rates of the GPU: a large product of random matrices in bf16, and a copy
    that reads and writes 8 GB in total."""

    def __init__(self, job):
        self.size = job["gemm"]
        self.bytes = job["copy"]

    @staticmethod
    def time(work, repeat=10):
        for _ in range(3):
            work()
        times = []
        for _ in range(repeat):
            events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            events[0].record()
            work()
            events[1].record()
            torch.cuda.synchronize()
            times.append(events[0].elapsed_time(events[1]) / 1e3)
        return sorted(times)[repeat // 2]

    def gemm(self):
        a, b = (
            torch.randn(self.size, self.size, device="cuda", dtype=torch.bfloat16)
            for _ in range(2)
        )
        out = torch.empty_like(a)
        seconds = self.time(lambda: torch.mm(a, b, out=out))
        return {"tflops": 2 * self.size**3 / seconds / 1e12}

    def copy(self):
        source = torch.randint(
            0, 255, (self.bytes // 2,), device="cuda", dtype=torch.uint8
        )
        target = torch.empty_like(source)
        seconds = self.time(lambda: target.copy_(source))
        return {"tbytes_per_second": self.bytes / seconds / 1e12}


def main():
    job = json.loads(sys.argv[1])
    torch.manual_seed(1)
    if job["twin"][0] == "ceilings":
        ceilings = Ceilings(job)
        say({"ready": True, "device": torch.cuda.get_device_name()})
        return serve({"gemm": ceilings.gemm, "copy": ceilings.copy})
    begin = time.perf_counter()
    training = Training(job)
    if not job["cold"]:
        training.warm_up()
    training.wait()
    say({"ready": True, "seconds": time.perf_counter() - begin})
    serve(
        {
            "steps": training.time,
            "losses": training.losses,
            "kernels": training.kernels,
        }
    )


if __name__ == "__main__":
    main()
