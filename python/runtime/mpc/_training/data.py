"""What a Trainer takes as data: files, arrays, samples and iterables."""

from __future__ import annotations

import itertools
import os
from collections import deque
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from mpc import _runtime
from mpc._arrays import DTYPES, Copies, by_order, loses_nothing, on_host
from mpc._errors import InvalidArgument
from mpc._program import Program, TensorSpec

Collate = Callable[[list[Any]], Any]
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
# An error may be about the batch before the last one.
_KEPT_BATCHES = 3


def is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


def is_arrays(data: Any) -> bool:
    """A mapping of arrays, or a tuple of arrays in the order of the inputs."""
    if isinstance(data, tuple):
        return bool(data) and all(len(getattr(array, "shape", ())) > 0 for array in data)
    return hasattr(data, "keys")


def is_samples(data: Any) -> bool:
    """A sequence of samples."""
    return hasattr(data, "__getitem__") and hasattr(data, "__len__")


def is_stream(data: Any) -> bool:
    """An iterable of batches, such as a DataLoader."""
    return not (is_path(data) or is_arrays(data) or is_samples(data))


def require_data(name: str, data: Any) -> None:
    if not is_path(data) and not is_arrays(data) and not is_samples(data) \
            and not hasattr(data, "__iter__"):
        raise TypeError(
            f"{name} must be a path, a dict of arrays, a sequence of samples or an iterable of "
            f"batches, not {type(data).__name__}"
        )


def in_names(batch: Any, specs: Sequence[TensorSpec]) -> dict[str, Any]:
    """A batch or a sample as a dict; unchanged if it is one."""
    if hasattr(batch, "keys"):
        return {name: batch[name] for name in batch.keys()}
    return dict(zip([s.name for s in specs], by_order(batch, [s.name for s in specs])))


def open_data(
    program: Program,
    entry: str | None,
    data: Any,
    options: _runtime.TrainOptions,
    collate: Collate | None,
    stream: Stream | None = None,
) -> _runtime.Dataset:
    """The data for an entry point; None is that of training."""
    handle = program._handle
    if is_path(data):
        return _runtime.Dataset.open(handle, entry, os.fspath(data), options)
    specs = program.inputs(entry or "step")
    if is_arrays(data):
        names = [spec.name for spec in specs]
        arrays = [
            _whole_array(array, spec) for array, spec in zip(by_order(data, names), specs)
        ]
        return _runtime.Dataset.from_arrays(
            handle, entry, list(zip(names, arrays)),
            [spec_name(array, spec) for array, spec in zip(arrays, specs)], options,
        )
    if stream is not None:
        return _runtime.Dataset.from_callback(handle, entry, stream.num_samples, stream.read, options)
    if len(data) == 0:
        raise InvalidArgument("the dataset has no samples")
    reader = Samples(data, specs, collate)
    return _runtime.Dataset.from_callback(handle, entry, len(data), reader.read, options)


def spec_name(array: np.ndarray[Any, Any], spec: TensorSpec) -> str:
    """The name of an array's type; bf16 arrays are borrowed as their bits."""
    is_bits = array.dtype == np.uint16 and spec.dtype == DTYPES["bf16"]
    return "bf16" if is_bits else _NAMES[array.dtype]


def _whole_array(array: Any, spec: TensorSpec) -> np.ndarray[Any, Any]:
    """All samples of an input, in a form that the training loop borrows or converts itself."""
    subject = f"input '{spec.name}'"
    if isinstance(array, (list, tuple)):
        raise InvalidArgument(
            f"{subject} is of type {type(array).__name__}, not an array; use numpy.asarray(...)"
        )
    host = on_host(subject, array, False)
    # The loop converts between the types that programs have.
    if host.dtype not in _NAMES:
        if not loses_nothing(host.dtype, spec.dtype):
            raise InvalidArgument(
                f"{subject} has the type {host.dtype}, but the program takes {spec.dtype}; convert "
                f"it with array.astype('{spec.dtype}')"
            )
        Copies.count += 1
        host = host.astype(spec.dtype)
    if not host.flags.c_contiguous:
        Copies.count += 1
        host = np.ascontiguousarray(host)
    if host.dtype == DTYPES["bf16"]:
        return host.view(np.uint16)
    return host


class Samples:
    """Reads a sequence of samples for the training loop."""

    def __init__(
        self, data: Any, specs: Sequence[TensorSpec], collate: Collate | None
    ) -> None:
        self._data = data
        self._specs = specs
        self._collate = collate

    def read(self, numbers: list[int], arrays: list[np.ndarray[Any, Any]]) -> None:
        """Writes the samples with these numbers into arrays of the inputs."""
        if hasattr(self._data, "__getitems__"):
            items = self._data.__getitems__(numbers)
        else:
            items = [self._data[number] for number in numbers]
        if self._collate is not None:
            batch = in_names(self._collate(list(items)), self._specs)
            for spec, target in zip(self._specs, arrays):
                assign(target, _entry(batch, spec), spec, f"the data_collator's '{spec.name}'")
            return
        for i, (number, item) in enumerate(zip(numbers, items)):
            sample = in_names(item, self._specs)
            for spec, target in zip(self._specs, arrays):
                value = _entry(sample, spec)
                subject = f"sample {number}: '{spec.name}'"
                if spec.batch_dim is None:
                    if i == 0:
                        assign(target, value, spec, subject)
                else:
                    assign(np.moveaxis(target, spec.batch_dim, 0)[i, ...], value, spec, subject)


class Stream:
    """Reads an iterable of batches for the training loop, which asks for them in order.

    Attributes:
        epoch: The number of the epoch, from 0, that is read next.
        seed: That of the run.
    """

    def __init__(
        self, data: Iterable[Any], specs: Sequence[TensorSpec], batch_size: int,
        num_batches: int | None, seed: int,
    ) -> None:
        self._data = data
        self._specs = specs
        self._batch_size = batch_size
        self.seed = seed
        self._iterator: Iterator[Any] | None = None
        self._position = 0
        self._kept: deque[tuple[int, dict[str, Any]]] = deque(maxlen=_KEPT_BATCHES)
        self.epoch = 0
        replicas = getattr(getattr(data, "sampler", None), "num_replicas", 1)
        if isinstance(replicas, int) and replicas > 1:
            raise InvalidArgument(
                f"train_dataset has a sampler for {replicas} processes, but mpc.Trainer gives each "
                "process its share of the batches itself; pass an iterable of all batches"
            )
        try:
            count = len(data)  # type: ignore[arg-type]
        except TypeError:
            count = None
        if count == 0:
            raise InvalidArgument("the iterable has no batches")
        if count is None and num_batches is None:
            raise InvalidArgument(
                f"train_dataset is an iterable of unknown length ({type(data).__name__}); pass "
                "max_steps in the arguments, or an iterable with __len__"
            )
        self._is_endless = count is None
        self.num_samples = (count or num_batches or 0) * batch_size

    def read(self, numbers: list[int], arrays: list[np.ndarray[Any, Any]]) -> None:
        """Writes the samples with these numbers, which are those of one batch or two."""
        size = self._batch_size
        if len(numbers) == size and numbers[0] % size == 0:
            batch = self._batch(numbers[0] // size)
            for spec, target in zip(self._specs, arrays):
                assign(target, _entry(batch, spec), spec, f"input '{spec.name}'")
            return
        for i, number in enumerate(numbers):
            batch = self._batch(number // size)
            for spec, target in zip(self._specs, arrays):
                value = _entry(batch, spec)
                if spec.batch_dim is not None:
                    axis = spec.batch_dim
                    target = np.moveaxis(target, axis, 0)[i, ...]
                    value = np.moveaxis(on_host(spec.name, value, False), axis, 0)[number % size]
                assign(target, value, spec, f"input '{spec.name}'")

    def _batch(self, index: int) -> dict[str, Any]:
        for kept, batch in self._kept:
            if kept == index:
                return batch
        if self._iterator is None or index < self._position:
            if self._iterator is not None:
                self.epoch += 1
            self._begin()
        while self._position <= index:
            batch = self._next()
            self._position += 1
        self._check(batch, index)
        if index == 0:
            self._kept.clear()
        self._kept.append((index, batch))
        return batch

    def _begin(self) -> None:
        """Starts an epoch, whose order depends on its number only."""
        _set_epoch(self._data, self.epoch, self.seed)
        self._iterator = iter(self._data)
        self._position = 0

    def _next(self) -> dict[str, Any]:
        assert self._iterator is not None
        try:
            return in_names(next(self._iterator), self._specs)
        except StopIteration:
            pass
        # An iterable that can be read again begins anew; an iterator cannot.
        if self._is_endless and self._position > 0:
            again = iter(self._data)
            if again is not self._iterator:
                self._iterator = again
                for batch in self._iterator:
                    return in_names(batch, self._specs)
        needed = self.num_samples // self._batch_size
        raise InvalidArgument(
            f"the iterable ended after {self._position} batches, but the run needs {needed}"
            + ("; pass smaller max_steps, or an iterable that can be read again"
               if self._is_endless else ", as its __len__ says")
        )

    def _check(self, batch: dict[str, Any], index: int) -> None:
        for spec in self._specs:
            shape = getattr(_entry(batch, spec), "shape", None)
            if spec.batch_dim is None or shape is None or len(shape) != len(spec.shape):
                continue
            if shape[spec.batch_dim] != self._batch_size:
                raise InvalidArgument(
                    f"batch {index} of the iterable has {shape[spec.batch_dim]} samples of "
                    f"'{spec.name}', but the program takes {self._batch_size}; use "
                    f"batch_size={self._batch_size} and drop_last=True"
                )


def _set_epoch(data: Any, epoch: int, seed: int) -> None:
    """Makes the order of an epoch the same in each run."""
    if hasattr(data, "set_epoch"):
        data.set_epoch(epoch)
    sampler: Any = getattr(data, "sampler", None)
    if hasattr(sampler, "set_epoch"):
        sampler.set_epoch(epoch)
    if type(data).__module__.startswith("torch.utils.data") and hasattr(data, "generator"):
        import torch

        # Both draw from it; a random sampler would otherwise draw from PyTorch's own generator,
        # which uses 32 bits of its seed.
        data.generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**32)
        if hasattr(sampler, "generator"):
            sampler.generator = data.generator


def _entry(batch: Mapping[str, Any], spec: TensorSpec) -> Any:
    if spec.name not in batch:
        by_order(batch, [spec.name])  # Raises the error.
    return batch[spec.name]


def assign(target: np.ndarray[Any, Any], value: Any, spec: TensorSpec, subject: str) -> None:
    """Writes a value, which may be a number or a list, if its type and shape fit."""
    is_number = isinstance(value, (bool, int, float, list, tuple))
    try:
        host = np.asarray(value) if is_number else on_host(subject, value, False)
    except ValueError as error:
        raise InvalidArgument(f"{subject} cannot be read as an array: {error}") from error
    if host.shape != target.shape:
        raise InvalidArgument(
            f"{subject} has the shape {host.shape}, but the program takes {target.shape}"
        )
    if spec.dtype == DTYPES["bf16"]:
        target = target.view(spec.dtype)
    if _kind(host.dtype) != _kind(spec.dtype) and not (is_number and host.dtype.kind in "iu"):
        raise InvalidArgument(
            f"{subject} has the type {host.dtype}, but the program takes {spec.dtype}"
        )
    target[...] = host
    if _kind(spec.dtype) == "i" and not np.array_equal(target, host):
        raise InvalidArgument(f"{subject} has values that {spec.dtype} does not hold")


def _kind(dtype: np.dtype[Any]) -> str:
    """Floats, integers, or others. bool and u8 are numbers of their own only as inputs."""
    if dtype.kind == "f" or dtype in (DTYPES["bf16"], DTYPES["f8e4m3"], DTYPES["f8e5m2"]):
        return "f"
    return "i" if dtype.kind in "iub" else dtype.kind


def to_arrays(
    program: Program, data: Any, collate: Collate | None, *entries: str
) -> dict[str, np.ndarray[Any, Any]]:
    """All samples of the inputs of an entry point, and whatever else a dict has.

    Of several entry points, the first one whose inputs the data has.
    """
    if is_path(data):
        return _read_file(program, os.fspath(data), entries)
    if is_arrays(data):
        specs = _choose(program, entries, data)
        return {
            name: on_host(f"input '{name}'", array, False)
            for name, array in in_names(data, specs).items()
            if not isinstance(array, (list, tuple))
        }
    if is_samples(data):
        if len(data) == 0:
            raise InvalidArgument("the dataset has no samples")
        specs = _choose(program, entries, collate([data[0]]) if collate else data[0])
        arrays = []
        for spec in specs:
            shape = list(spec.shape)
            if spec.batch_dim is not None:
                shape[spec.batch_dim] = len(data)
            arrays.append(np.empty(shape, spec.dtype))
        Samples(data, specs, collate).read(list(range(len(data))), arrays)
        return {spec.name: array for spec, array in zip(specs, arrays)}
    batches = list(data)
    if not batches:
        raise InvalidArgument("the iterable has no batches")
    specs = _choose(program, entries, batches[0])
    batches = [in_names(batch, specs) for batch in batches]
    return {
        spec.name: _join(
            [on_host(f"input '{spec.name}'", _entry(batch, spec), False) for batch in batches], spec
        )
        for spec in specs
    }


def _choose(program: Program, entries: Sequence[str], sample: Any) -> tuple[TensorSpec, ...]:
    """The inputs of the first entry point whose inputs are all there, or of the first one."""
    for entry in entries:
        specs = program.inputs(entry)
        if hasattr(sample, "keys"):
            fits = all(spec.name in sample.keys() for spec in specs)
        else:
            fits = len(specs) == (len(sample) if isinstance(sample, (tuple, list)) else 1)
        if fits:
            return specs
    return program.inputs(entries[0])


def _read_file(
    program: Program, path: str, entries: Sequence[str]
) -> dict[str, np.ndarray[Any, Any]]:
    for entry in entries:
        try:
            dataset = _runtime.Dataset.open(
                program._handle, entry, path, _runtime.TrainOptions([])
            )
            break
        except InvalidArgument:
            if entry == entries[-1]:
                raise
    size, count = dataset.batch_size, dataset.num_samples
    pieces = [
        dataset.read(list(range(first, min(first + size, count)))) for first in range(0, count, size)
    ]
    result = {}
    for i, spec in enumerate(program.inputs(entry)):
        whole = _join([piece[i] for piece in pieces], spec)
        if spec.batch_dim is not None:  # The last batch is filled up.
            whole = whole[(slice(None),) * spec.batch_dim + (slice(0, count),)]
        is_bits = spec.dtype == DTYPES["bf16"]
        result[spec.name] = np.ascontiguousarray(whole).view(spec.dtype) if is_bits else whole
    return result


def _join(pieces: list[np.ndarray[Any, Any]], spec: TensorSpec) -> np.ndarray[Any, Any]:
    return pieces[0] if spec.batch_dim is None else np.concatenate(pieces, axis=spec.batch_dim)


def first_sample_batch(data: Any, count: int, collate: Collate | None) -> Any:
    """Up to `count` samples of any kind of data but a file, as one batch of arrays."""
    if is_arrays(data):
        arrays = data.items() if hasattr(data, "items") else enumerate(data)
        cut = {name: array[:count] for name, array in arrays}
        return tuple(cut.values()) if isinstance(data, tuple) else cut
    if is_samples(data):
        items = [data[i] for i in range(min(count, len(data)))]
        if collate is not None:
            return collate(items)
        if hasattr(items[0], "keys"):
            return {name: np.stack([np.asarray(item[name]) for item in items])
                    for name in items[0].keys()}
        return tuple(np.stack([np.asarray(v) for v in values]) for values in zip(*items))
    batches = list(itertools.islice(data, 1))
    if not batches:
        raise InvalidArgument("the iterable has no batches")
    return batches[0]
