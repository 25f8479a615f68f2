"""Precision reports."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


class Report:
    """The format in which each op of a program computes, the rule that decided it, its cost.

    Notebooks show it as a table.

    Attributes:
        json: The whole report as text; docs/format/report.md describes its fields.
    """

    __slots__ = ("json", "_content")

    def __init__(self, text: str) -> None:
        self.json = text
        self._content: dict[str, Any] = json.loads(text)

    @property
    def ops(self) -> list[dict[str, Any]]:
        """A record for each op of each entry point: `function`, `node`, `type`, `dtype`, ...

        >>> gemm = next(op for op in program.report().ops if op["type"] == "Gemm")
        >>> gemm["node"], gemm["dtype"], gemm["rule_id"]
        ('fc1', 'bf16', 'class')
        """
        return [
            {"function": function["name"], **op}
            for function in self._content["functions"]
            for op in function["ops"]
        ]

    @property
    def summary(self) -> dict[str, dict[str, Any]]:
        """Totals of each entry point: `ops`, `flops`, `flops_16bit`, `bytes`, `bytes_16bit`, ...

        >>> program.report().summary["step"]["ops"]
        24
        """
        return {
            function["name"]: {
                "ops": len(function["ops"]),
                "casts": len(function["casts"]),
                **{
                    name: sum(op.get(name, 0) for op in function["ops"])
                    for name in ("flops", "flops_16bit", "bytes", "bytes_16bit")
                },
            }
            for function in self._content["functions"]
        }

    def to_dataframe(self) -> pandas.DataFrame:
        """`ops` as a pandas DataFrame.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas

        return pandas.DataFrame.from_records(self.ops)

    def __repr__(self) -> str:
        lines = [f"{self._content['model']}: {self._content['precision']}"]
        for name, total in self.summary.items():
            lines.append(
                f"  {name:12} {total['ops']:5} ops  {_share(total, 'flops')} of the operations and "
                f"{_share(total, 'bytes')} of the bytes in 16 bit"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = ("function", "node", "type", "dtype", "flops", "bytes", "reason")
        rows = (
            "".join(f"<td>{html.escape(str(op.get(name, '')))}</td>" for name in columns)
            for op in self.ops
        )
        heading = html.escape(f"{self._content['model']}: {self._content['precision']}")
        return (
            f"<table><caption>{heading}</caption><thead><tr>"
            + "".join(f"<th>{name}</th>" for name in columns)
            + "</tr></thead><tbody>"
            + "".join(f"<tr>{row}</tr>" for row in rows)
            + "</tbody></table>"
        )


def _share(total: dict[str, Any], name: str) -> str:
    return f"{100 * total[name + '_16bit'] / (total[name] or 1):5.1f} %"
