"""The compiler of mpc, which `mpc.compile` uses. It has no interface of its own."""

import mpc

__version__ = "0.1.0"

if mpc.__version__ != __version__:
    raise ImportError(
        f"mpc-compiler {__version__} needs mpc-runtime {__version__}, but {mpc.__version__} "
        f"is installed; use `pip install mpc-runtime=={__version__}`"
    )

from mpc_compiler import _compiler  # noqa: E402  (only if the versions fit)

__all__: list[str] = []
