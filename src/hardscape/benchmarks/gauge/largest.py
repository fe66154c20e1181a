"""The largest SU(3) field that one GPU holds and sweeps, in Landau gauge, in single and in double precision.

``python -m hardscape.benchmarks.gauge.largest --save FOLDER`` fills the free memory with timeslices of
128^3, sweeps them by matrix-overrelaxation, twenty sweeps at a time, and tells which part of the memory
links and g take. Theta is told before the sweeps and after them.
"""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from hardscape.benchmarks.gauge.domains import links_of, rates
from hardscape.benchmarks.tables import Table
from hardscape.engine import cuda_device
from hardscape.gauge.lattice.cuda import CudaLattices
from hardscape.gauge.options import FixOptions
from hardscape.gauge.stored.instance import Instance

app = App(help=__doc__, result_action="return_value")

#: Bytes that are left free: for users' arrays on their way to the kernels' order, and for CUDA itself.
_FREE = 1.3e9


@app.default
def main(*, save: Path | None = None, extent: int = 128) -> None:
    """Print the table; the share is that of the memory that was free.

    Parameters
    ----------
    save
        Folder for the table as JSON.
    extent
        Of a timeslice in x, y and z, a multiple of 16.
    """
    import cupy

    columns = ["lattice", "precision", "sites", "bytes a site", "free bytes", "share"]
    table = Table.begun("gauge-largest", [*columns, "site updates/s", "theta before and after"])
    pool = cupy.get_default_memory_pool()
    for options in (FixOptions(precision="single", theta=1e-9), FixOptions()):
        single = options.precision == "single"
        with cuda_device(0) as device:
            pool.free_all_blocks()
            free, _ = cupy.cuda.runtime.memGetInfo()
            size = Instance((extent,) * 4, 3, single, ten_links=not single).site_bytes(4, 1)
            slices = int((free - _FREE) // (size * extent**3)) // 2 * 2
            one = cupy.asarray(links_of(extent, 1))
            links = cupy.broadcast_to(one, (slices, *one.shape[1:]))
            lattices = CudaLattices(device, links, options, single, 1)
            sites, taken = lattices.volume, lattices.instance.site_bytes(4, 1)
            theta = [float(lattices.measure().whole_theta("mean")[0])]
            found = rates(lattices, 1)
            theta.append(float(lattices.measure().whole_theta("mean")[0]))
            shape, share = f"{extent}^3 x {slices}", sites * taken / free
            ends = " to ".join(f"{x:.4g}" for x in theta)
            table.add(shape, options.precision, sites, taken, free, share, found, ends)
            del lattices, links, one
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
