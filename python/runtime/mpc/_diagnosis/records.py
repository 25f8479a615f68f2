"""Lists of records as tables and figures."""

from __future__ import annotations

import dataclasses
import html
import os
from typing import TYPE_CHECKING, Any, Sequence

from mpc._errors import IoError

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# Rows of a table in a notebook.
_SHOWN_ROWS = 30


def to_dataframe(records: Sequence[Any]) -> pandas.DataFrame:
    """Records as a DataFrame, a column for each field."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise ImportError(
            "to_dataframe() needs pandas; use `pip install pandas`, or the list of records"
        ) from None
    return pandas.DataFrame.from_records([dataclasses.asdict(record) for record in records])


def new_axes(axes: Axes | None, height: float) -> Axes:
    """The axes to draw into; those of a new figure if there are none."""
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError:
        raise ImportError(
            "plot() needs matplotlib; use `pip install matplotlib`, or to_dataframe()"
        ) from None
    return pyplot.subplots(figsize=(7, height), layout="constrained")[1]


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise IoError(f"cannot write '{os.fspath(path)}': {error.strerror}") from error


def to_html(caption: str, records: Sequence[Any]) -> str:
    """The first records as a table."""
    names = [field.name for field in dataclasses.fields(records[0])] if records else []
    rows = (
        "".join(f"<td>{html.escape(_cell(getattr(record, name)))}</td>" for name in names)
        for record in records[:_SHOWN_ROWS]
    )
    more = len(records) - _SHOWN_ROWS
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>"
        + "".join(f"<th>{name}</th>" for name in names)
        + "</tr></thead><tbody>"
        + "".join(f"<tr>{row}</tr>" for row in rows)
        + "</tbody></table>"
        + (f"<p>and {more} more</p>" if more > 0 else "")
    )


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
