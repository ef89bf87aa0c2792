"""What several tests use."""

from __future__ import annotations

import pytest


@pytest.fixture
def counted():
    """A function that bears five million packets a second, and the trials that it was asked for."""

    class Bench:
        def __init__(self) -> None:
            self.asked: list[tuple[float, float]] = []

        def __call__(self, load_pps: float, duration_s: float) -> dict[str, int]:
            self.asked.append((load_pps, duration_s))
            offered = int(load_pps * duration_s)
            return {"offered": offered, "intended": offered, "forwarded": min(offered, int(5e6 * duration_s))}

    return Bench()
