"""Lattice gauge fields: SU(2) and SU(3) links, their files, their generation, their gauges."""

from hardscape.gauge.field import GaugeField

__all__ = ["GaugeField"]
