from hardscape.native._core import (
    ising as ising,
    maxsat as maxsat,
    xorsat as xorsat
)

def supported_levels() -> list[str]: ...
