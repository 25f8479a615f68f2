"""What a row of make_models.py is."""
import dataclasses
import sys
import typing


@dataclasses.dataclass
class Case:
    name: str
    tensors: str
    body: str
    function: typing.Optional[typing.Callable] = None
    outputs: str = "y" # With their types, unless they are floats.
    opset: int = 17
    # Instead of random data, with a factor of 1; outputs must be equal bit by bit.
    values: typing.Optional[list] = None
    group: str = "" # The file that has the row, without cases_of_ or cases_.


CASES = []


def case(*arguments, **options):
    module = sys._getframe(1).f_globals["__name__"]
    group = module.removeprefix("cases_").removeprefix("of_")
    CASES.append(Case(*arguments, **options, group=group))
