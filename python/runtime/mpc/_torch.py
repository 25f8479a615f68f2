"""mpc.from_torch: a PyTorch module as a program, and its weights back into the module."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from mpc._errors import CompileError, CompileMessage, CompileNote, InvalidArgument

if TYPE_CHECKING:
    import torch

    from mpc._program import Program
    from mpc._session import Session


def from_torch(
    module: torch.nn.Module,
    example_inputs: Any,
    loss: str | None = None,
    **options: Any,
) -> Program:
    """Compiles a PyTorch module into a program that trains as PyTorch trains the module.

    The module is exported as it is: in training or evaluation mode, which decides about dropout
    and, layer by layer, about BatchNorm. Parameters with `requires_grad=False` are not trained,
    buffers are constants, tied parameters stay tied, `detach()` stops gradients, and the
    `padding_idx` of an embedding is not trained. Options override all of this.

    Args:
        module: The module; it is not changed. Its parameters are the initial weights.
        example_inputs: A tensor, a tuple of tensors, or a dict of tensors by argument name. The
            first dimension of each counts samples; that of the first one is the batch size
            unless `batch` is given.
        loss: The loss, as `mpc compile --loss` takes it: "cross-entropy", "mse", ...; None: chosen
            from the shape of the output.
        options: The options of `mpc.compile`.

    Raises:
        CompileError: PyTorch cannot export the module, or mpc cannot compile it.
        TypeError: There is no such option.
        ImportError: mpc-compiler, PyTorch or its exporter (onnxscript) is not installed.
    """
    import torch

    from mpc._compile import run

    args, kwargs = _arguments(example_inputs)
    exported = export(torch, module, args, kwargs, names_detached="detach" in options)
    if exported.changed:
        warnings.warn(
            "the module changes buffers in forward(), which the export loses: they stay as they "
            "are: " + ", ".join(exported.changed),
            CompileNote,
            stacklevel=2,
        )
    chosen: dict[str, Any] = {"loss": loss}
    if exported.batch is not None and "dim" not in options:
        chosen["batch"] = exported.batch
    chosen |= exported.options
    program = run(exported.onnx.model_proto, None, None, chosen | options, stacklevel=3)
    program._names = exported.names
    return program


def load_into(session: Session, module: torch.nn.Module) -> None:
    """See Session.load_into."""
    import torch

    names = session.program._names
    if not names:
        raise InvalidArgument("the program was not made by mpc.from_torch, so it knows no module")
    states = session.states
    tensors = dict(named_tensors(module))
    pairs = []
    for name, onnx_name in names.items():
        if onnx_name not in states:
            continue  # A constant, which training does not change.
        target = tensors.get(name)
        spec = states.spec(onnx_name)
        if target is None or tuple(target.shape) != spec.shape:
            found = "lacks" if target is None else f"has the shape {tuple(target.shape)} for"
            raise InvalidArgument(
                f"the module is not the one that mpc.from_torch took: it {found} '{name}' "
                f"{list(spec.shape)}"
            )
        pairs.append((target, onnx_name))
    with torch.no_grad():
        for target, onnx_name in pairs:
            array = states[onnx_name]
            if array.dtype.kind == "V":  # bf16, which torch.from_numpy does not take
                array = array.astype(np.float32)
            target.copy_(torch.from_numpy(array))


class Exported(NamedTuple):
    """A module as an ONNX model, and what ONNX does not say about it."""

    program: Any  #: torch.export.ExportedProgram.
    batch: int | None  #: None if the number of samples is fixed.
    onnx: Any  #: torch.onnx.ONNXProgram.
    names: dict[str, str]  #: ONNX names of parameters and buffers by the module's names.
    options: dict[str, Any]  #: Of mpc.compile.
    changed: list[str]  #: Buffers that `forward` changes, which the model does not.


def export(
    torch: Any,
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    fixed: bool = False,
    names_detached: bool = False,
    stacklevel: int = 5,
) -> Exported:
    """Exports a module as it is: in its mode, for the shapes of the arguments.

    Args:
        fixed: The number of samples is that of the arguments, otherwise symbolic if the module
            allows it.
        names_detached: The caller says where gradients stop.
        stacklevel: Of warnings.
    """
    with _without_caches(module, stacklevel), _quiet():
        program, batch = _export(torch, module, args, kwargs, fixed)
        try:
            onnx = torch.onnx.export(program, dynamo=True, optimize=False, verbose=False)
        except Exception as error:  # PyTorch raises many kinds.
            raise _export_error(module, error) from error
    assert onnx is not None
    names = _match_names(module, set(onnx.model.graph.initializers))
    options = _training_options(
        torch, module, program, onnx.model, names, names_detached, stacklevel
    )
    return Exported(program, batch, onnx, names, options, _changed_buffers(torch, module, onnx))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hides progress and warnings of the exporter about itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _arguments(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example, Mapping):
        return (), dict(example)
    if isinstance(example, Sequence):
        return tuple(example), {}
    return (example,), {}


def _export(
    torch: Any,
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    fixed: bool,
) -> tuple[Any, int | None]:
    """Exports with a symbolic number of samples or, if the module fixes it, that of the example."""
    tensors = [t for t in (*args, *kwargs.values()) if isinstance(t, torch.Tensor) and t.dim() > 0]
    batch = int(tensors[0].shape[0]) if tensors and not fixed else None
    try:
        if batch is None:
            return torch.export.export(module, args, kwargs), None
        try:
            return _export_symbolic(torch, module, args, kwargs, batch), batch
        except Exception:
            return torch.export.export(module, args, kwargs), None
    except Exception as error:
        raise _export_error(module, error) from error


def _export_error(module: torch.nn.Module, error: BaseException) -> CompileError:
    """What went wrong at the root, and what may help."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = f"PyTorch cannot export the module: {str(error).strip() or type(error).__name__}"
    if hasattr(module, "set_attn_implementation"):
        text += "\nperhaps it can after module.set_attn_implementation('eager')"
    return CompileError(text, (CompileMessage(text),))


@contextlib.contextmanager
def _without_caches(module: torch.nn.Module, stacklevel: int) -> Iterator[None]:
    """Lets models of the package transformers return no caches for generation, which cannot be
    exported."""
    config = getattr(module, "config", None)
    if getattr(config, "use_cache", False) is not True:
        yield
        return
    assert config is not None
    warnings.warn(
        "exported with config.use_cache=False: the module returns no cache for generation",
        CompileNote,
        stacklevel=stacklevel + 1,
    )
    config.use_cache = False
    try:
        yield
    finally:
        config.use_cache = True


def _export_symbolic(
    torch: Any, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], batch: int
) -> Any:
    count = torch.export.Dim("batch")

    def has_samples(value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.dim() > 0 and value.shape[0] == batch

    def example(value: Any) -> Any:
        # PyTorch takes an extent of 1 to be fixed.
        return torch.cat([value, value]) if batch == 1 and has_samples(value) else value

    def shapes(value: Any) -> Any:
        return {0: count} if has_samples(value) else None

    args = tuple(example(value) for value in args)
    kwargs = {name: example(value) for name, value in kwargs.items()}
    if batch == 1:
        batch = 2
    dynamic = tuple(map(shapes, args)) if args else {n: shapes(v) for n, v in kwargs.items()}
    return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic)


def named_tensors(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """All parameters and buffers; tied ones under each of their names."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def _match_names(module: torch.nn.Module, initializers: set[str]) -> dict[str, str]:
    """ONNX names by the module's names. The exporter keeps one name of tied tensors."""
    by_tensor = {id(t): name for name, t in named_tensors(module) if name in initializers}
    return {name: by_tensor[id(t)] for name, t in named_tensors(module) if id(t) in by_tensor}


def _changed_buffers(torch: Any, module: torch.nn.Module, onnx: Any) -> list[str]:
    """Buffers that `forward` changes, other than the statistics of BatchNorm."""
    signature = onnx.exported_program.graph_signature

    def belongs_to_norm(name: str) -> bool:
        owner = module.get_submodule(name.rpartition(".")[0])
        return isinstance(owner, torch.nn.modules.batchnorm._NormBase)

    return [name for name in signature.buffers_to_mutate.values() if not belongs_to_norm(name)]


def training_modes(module: torch.nn.Module) -> tuple[bool, ...]:
    """Which of its modules are in training mode."""
    return tuple(part.training for part in module.modules())


def _exactly(names: Sequence[str]) -> list[str]:
    return [f"^{re.escape(name)}$" for name in names]


def _training_options(
    torch: Any,
    module: torch.nn.Module,
    program: Any,
    model: Any,
    names: Mapping[str, str],
    names_detached: bool,
    stacklevel: int,
) -> dict[str, Any]:
    """What the module says about training and ONNX does not."""
    result: dict[str, Any] = {}
    frozen = {
        names[name]
        for name, parameter in module.named_parameters(remove_duplicate=False)
        if name in names and not parameter.requires_grad
    }
    aten = torch.ops.aten
    placeholders: dict[str, str] = {
        **program.graph_signature.inputs_to_parameters,
        **program.graph_signature.inputs_to_buffers,
    }
    padding: dict[str, int] = {}
    detached = 0
    norms: list[bool] = []  # Whether each BatchNorm is in training mode.
    statistics = set()  # Running means of those that are not.

    def find(argument: Any) -> str:
        """The ONNX name of a parameter or buffer, or ""."""
        return names.get(placeholders.get(getattr(argument, "name", ""), ""), "")

    for node in program.graph.nodes:
        if node.target in (aten.detach.default, aten.detach_.default):
            detached += bool(node.users)
        elif node.target is aten.embedding.default and len(node.args) > 2 and node.args[2] >= 0:
            table = find(node.args[0])
            if table and table not in frozen:
                padding[table] = int(node.args[2])
        elif node.target is aten.batch_norm.default:
            norms.append(bool(node.args[5]))
            if not norms[-1]:
                statistics.add(find(node.args[3]))
        elif "set_grad_enabled" in str(node.target):
            warnings.warn(
                "the module computes a part under torch.no_grad(), which the export loses: "
                "gradients will flow through it; use detach() instead",
                CompileNote,
                stacklevel=stacklevel,
            )
    if norms and all(norms):
        result["batchnorm"] = "train"
    elif norms and not any(norms):
        result["batchnorm"] = "frozen"
    frozen |= statistics - {""} if any(norms) else set()
    if frozen:
        result["freeze"] = _exactly(sorted(frozen))
    if padding:
        result["padding_idx"] = padding
    if names_detached:
        return result
    stops = [
        node.outputs[0].name
        for node in model.graph
        if node.op_type == "Identity" and re.fullmatch(r"node_detach(_+\d+)*", node.name or "")
    ]
    if len(stops) != detached:
        raise CompileError(
            f"the module detaches {detached} values, but the export has {len(stops)} of them; "
            "name them with detach=[...]"
        )
    if stops:
        result["detach"] = _exactly(stops)
    return result
