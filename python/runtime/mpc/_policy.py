"""Files with precision rules, which `mpc debug bisect` and mpc.bisect write."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from mpc._arrays import suggest
from mpc._errors import InvalidArgument, IoError

_VERSION = 1
_KEYS = ("version", "precision", "residual", "rule")


def read_policy(path: Any) -> dict[str, Any]:
    """The keywords of mpc.compile that a file stands for. The compiler checks their values."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"policy must be the path of a TOML file, but is {path!r}; use op_precision for rules"
        )
    name = f"policy '{os.fspath(path)}'"
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise IoError(f"cannot read '{os.fspath(path)}': {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{name} is not a TOML file: {error}") from error
    for key in content:
        if key not in _KEYS:
            raise InvalidArgument(f"{name} has the unknown key '{key}'{suggest(key, _KEYS)}")
    if content.get("version") != _VERSION:
        raise InvalidArgument(
            f"{name} has version {content.get('version')!r}, but this mpc reads {_VERSION}"
        )
    rules = content.get("rule", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise InvalidArgument(f"{name}: rules are written as [[rule]]")
    for rule in rules:
        if set(rule) != {"match", "format"} or not all(isinstance(v, str) for v in rule.values()):
            raise InvalidArgument(f"{name}: a rule has texts for 'match' and 'format', not {rule}")
    result: dict[str, Any] = {
        key: content[key] for key in ("precision", "residual") if key in content
    }
    return {**result, "policy": [f"{rule['match']}={rule['format']}" for rule in rules]}
