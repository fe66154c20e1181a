"""The figures and tables of the five papers that hardscape starts from, beside the published numbers."""

from hardscape.reproduce.figure import Figure, Quantity
from hardscape.reproduce.figures import figures
from hardscape.reproduce.reproduction import Reproduction, read_reproduction, reproduce

__all__ = ["Figure", "Quantity", "Reproduction", "figures", "read_reproduction", "reproduce"]
