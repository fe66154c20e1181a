"""The search on a CPU thread: the compiled core walks and filters blocks, and lists what passes."""

from __future__ import annotations

from hardscape.engine import Context, Device, Shard, ShardResult
from hardscape.ising.methods.exhaustive.blocks import LOW, Side

__all__ = ["CpuSide"]


class CpuSide(Side):
    """Chunks on the calling thread."""

    low = LOW
    least_bits, most_bits = LOW, 34

    def prepare(self, device: Device) -> None:
        """Nothing is to be done."""

    def run(self, shard: Shard, context: Context, limit: int | None) -> ShardResult:
        """Search one chunk."""
        bits = self.search.layout.low + self.search.layout.mid
        return self.search.roots(shard.start >> bits, shard.stop >> bits, limit, context.stop)
