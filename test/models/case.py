"""What a row of make_models.py is."""
import dataclasses
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


CASES = []


def case(*arguments, **options):
    CASES.append(Case(*arguments, **options))
