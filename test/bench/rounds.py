"""Rounds in which sides take turns, between two runs of mpc-canary."""

# A round counts if the machine ran at this share of its best speed.
SOUND = 0.95


def parse_canary(text, precision):
    """The rate that mpc-canary printed for this precision, in GFLOP/s. Where the CPU has
    no bf16 instructions, f32 measures the machine as well."""
    f32, bf16 = map(float, text.split())
    return bf16 if precision == "bf16" and bf16 > 0 else f32


def turns(sides, number):
    """The sides in the order of a round: alternating, so that none always runs first."""
    return list(sides) if number % 2 == 0 else list(reversed(list(sides)))


def sound_rounds(canaries):
    """The numbers of the rounds in which the machine ran at full speed."""
    return [i for i, rate in enumerate(canaries) if rate >= SOUND * max(canaries)]
