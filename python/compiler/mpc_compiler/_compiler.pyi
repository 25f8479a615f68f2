def compile(
    model: str | bytes,
    folder: str | None,
    output: str | None,
    options: list[tuple[str, str]],
) -> tuple[int, str, list[tuple[int, str, str, str, str]], bytes | None]: ...
def options() -> list[tuple[str, int, str, str, str, str]]: ...
