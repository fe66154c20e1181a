"""The engine: work cut into shards, run on devices, checkpointed, stopped and resumed.

Every family of hardscape describes its computation as a :class:`Work` or a :class:`Chain`;
:func:`solve` and :func:`steps` do the rest, behind one door, :class:`RunOptions`.
"""

from hardscape.engine.chain import Chain, steps
from hardscape.engine.cuda import CudaDevice, Kernel, LoadedKernel, cuda_device, kernel
from hardscape.engine.cuda.ahead import compiled_ahead
from hardscape.engine.deadline import Deadline
from hardscape.engine.device import Cpu, Cuda, Device, resolve
from hardscape.engine.estimates.forecast import Forecast, forecast
from hardscape.engine.lanes import Team, team
from hardscape.engine.ledger import Ledger
from hardscape.engine.machine import CudaStatus, Machine, cuda_status, probe
from hardscape.engine.options import RunArguments, RunOptions
from hardscape.engine.outcome import Outcome, Stopped
from hardscape.engine.progress import (
    CallbackProgress,
    NullProgress,
    Progress,
    ProgressEvent,
    RichProgress,
    resolve_progress,
)
from hardscape.engine.run import solve
from hardscape.engine.work import Context, Identity, Partial, Shard, ShardResult, Work, split

__all__ = [
    "CallbackProgress",
    "Chain",
    "Context",
    "Cpu",
    "Cuda",
    "CudaDevice",
    "CudaStatus",
    "Deadline",
    "Device",
    "Forecast",
    "Identity",
    "Kernel",
    "Ledger",
    "LoadedKernel",
    "Machine",
    "NullProgress",
    "Outcome",
    "Partial",
    "Progress",
    "ProgressEvent",
    "RichProgress",
    "RunArguments",
    "RunOptions",
    "Shard",
    "ShardResult",
    "Stopped",
    "Team",
    "Work",
    "compiled_ahead",
    "cuda_device",
    "cuda_status",
    "forecast",
    "kernel",
    "probe",
    "resolve",
    "resolve_progress",
    "solve",
    "split",
    "steps",
    "team",
]
