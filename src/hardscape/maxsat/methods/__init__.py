"""Ways to search, a folder each."""

from typing import Literal

#: What ``method=`` may be.
MethodName = Literal["auto", "weighting", "cellular", "exact"]
