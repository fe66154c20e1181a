"""Memory: what this process can still have, and the refusal of what needs more."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

from hardscape.errors import BudgetError

#: Bytes that are always taken to be there: nobody pays for a look at the machine in a small call.
_NEGLIGIBLE = 2**26
_GIGA = 1e9
#: The option of glibc's `mallopt`.
_MMAP_THRESHOLD = -3
#: A control group's limit, what it uses, and where it says what of that can be reclaimed (versions 2, 1).
_GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def available() -> int:
    """Bytes that this process can still have.

    The least of what the machine has free, what the limit of the address space (``ulimit -v``) leaves,
    and what the control group (a container, a job of a batch system) leaves.
    """
    left = [_of_machine(), address_space(), *(_of_group(*group) for group in _GROUPS)]
    return max(0, min(x for x in left if x is not None))


def small(needed: int) -> bool:
    """Whether so few bytes are always taken to be there."""
    return needed <= _NEGLIGIBLE


def require(needed: int, what: str) -> None:
    """Refuse what takes more bytes than there are.

    Raises
    ------
    BudgetError
        "`what` needs ... GB of memory; ... GB are available".
    """
    if not small(needed) and needed > (left := available()):
        raise BudgetError(
            f"{what} needs {needed / _GIGA:.3g} GB of memory; {left / _GIGA:.3g} GB are available"
        )


def give_back() -> None:
    """Let the system have what was freed: glibc keeps it for the thread that had it."""
    _tell_libc("malloc_trim", 0)


def give_back_at_once() -> None:
    """Let the system have blocks of a megabyte and more from now on as soon as they are freed.

    For a process of our own: what is allocated and freed often then takes longer.
    """
    _tell_libc("mallopt", _MMAP_THRESHOLD, 2**20)


def _tell_libc(name: str, *values: int) -> None:
    """Call a function that glibc has, and other C libraries may not have."""
    import ctypes  # takes milliseconds

    with suppress(OSError, AttributeError):
        getattr(ctypes.CDLL(None), name)(*values)


def _of_machine() -> int:
    found = _entry("/proc/meminfo", "MemAvailable:")
    if found is not None:
        return 1024 * found
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def address_space() -> int | None:
    """Bytes that the limit of the address space (``ulimit -v``) leaves; None without one."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    used = _number("/proc/self/statm")
    if used is None:
        return None
    return limit - used * os.sysconf("SC_PAGE_SIZE")


def _of_group(folder: str, limit: str, usage: str) -> int | None:
    most, used = _number(f"{folder}/{limit}"), _number(f"{folder}/{usage}")
    if most is None or used is None:
        return None
    return most - used + (_entry(f"{folder}/memory.stat", "inactive_file") or 0)


def _number(path: str) -> int | None:
    """The number that a file of the kernel begins with; None where there is none ("max")."""
    return _entry(path, None)


def _entry(path: str, key: str | None) -> int | None:
    try:
        for line in Path(path).read_text().splitlines():
            words = line.split()
            if key is None or words[0] == key:
                return int(words[key is not None])
    except (OSError, ValueError, IndexError):
        pass
    return None
