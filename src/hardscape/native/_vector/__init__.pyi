from hardscape.native._vector import (
    gauge as gauge,
    ising as ising,
    maxsat as maxsat,
    permanents as permanents,
    xorsat as xorsat
)
