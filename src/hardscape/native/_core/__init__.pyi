from hardscape.native._core import maxsat as maxsat


def supported_levels() -> list[str]: ...
