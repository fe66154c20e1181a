"""Lattice gauge fields: SU(2) and SU(3) links, their files, their generation, their gauges."""

from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats import FileReport, inspect, read, write

__all__ = ["FileReport", "GaugeField", "inspect", "read", "write"]
