"""The type of the rows of make_models.py."""
import dataclasses
import sys
import typing


@dataclasses.dataclass
class Case:
    name: str
    tensors: str
    body: str
    function: typing.Optional[typing.Callable] = None
    outputs: str = "y" # With types, unless they are floats.
    opset: int = 17
    # Used instead of random data, with a factor of 1; outputs must be bit-identical.
    values: typing.Optional[list] = None
    group: str = "" # The file that contains the row, without cases_of_ or cases_.


CASES = []


def case(*arguments, **options):
    module = sys._getframe(1).f_globals["__name__"]
    group = module.removeprefix("cases_").removeprefix("of_")
    CASES.append(Case(*arguments, **options, group=group))
