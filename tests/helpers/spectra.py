"""Lists of lowest states beside one another."""

from hardscape.ising import Spectrum


def assert_same_list(found: Spectrum, other: Spectrum) -> None:
    """That a list is certified, and the other one to the byte."""
    assert found.certified
    assert found.states.tobytes() == other.states.tobytes()
    assert found.energies.tobytes() == other.energies.tobytes()
    assert [(x.count, x.complete) for x in found.levels] == [
        (x.count, x.complete) for x in other.levels
    ]
