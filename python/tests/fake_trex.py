"""A client of TRex as far as a search asks one, in front of a device that forwards 5 million packets a second. No packet is sent."""

from __future__ import annotations

import sys
import types


class Layer:
    """A part of a packet, as long as its head."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __truediv__(self, other: Layer | bytes) -> Layer:
        return Layer(self.length + len(other))

    def __len__(self) -> int:
        return self.length


class STLError(Exception):
    """What a client raises."""


class STLClient:
    """It counts as TRex's does, by port: packets out, packets in."""

    CAPACITY_PPS = 5_000_000

    def __init__(self, server: str) -> None:
        self.connected = False
        self.frames: list[int] = []
        self.running: tuple[float, float] | None = None
        self.clear_stats()

    def connect(self) -> None:
        self.connected = True

    def disconnect(self) -> None:
        self.connected = False

    def reset(self, ports: list[int]) -> None:
        self._asked()
        self.frames = []

    def add_streams(self, streams: dict, ports: list[int]) -> None:
        self._asked()
        assert ports == [0]
        self.frames.append(streams["packet"])

    def clear_stats(self, ports: list[int] | None = None) -> None:
        self.counted = {0: {"opackets": 0, "ipackets": 0}, 1: {"opackets": 0, "ipackets": 0}}

    def start(self, ports: list[int], mult: str, duration: float, force: bool) -> None:
        self._asked()
        if self.frames != [60]:
            raise STLError("there is no stream of 60 bytes")
        assert ports == [0] and mult.endswith("pps")
        self.running = (float(mult.removesuffix("pps")), duration)

    def wait_on_traffic(self, ports: list[int], rx_delay_ms: int) -> None:
        assert self.running is not None
        load_pps, duration_s = self.running
        # Its clock is no better than anybody's.
        sent = round(load_pps * duration_s * 1.00001) + 1
        self.counted[0]["opackets"] = sent
        # The device says who it is (LLDP) while it is idle enough.
        self.counted[1]["ipackets"] = min(sent + 1, int(self.CAPACITY_PPS * duration_s))
        self.running = None

    def get_stats(self, ports: list[int]) -> dict:
        assert self.running is None
        return self.counted

    def _asked(self) -> None:
        if not self.connected:
            raise STLError("not connected")


def install(monkeypatch) -> None:
    """Makes it what ``from trex.stl.api import …`` finds."""
    api = types.ModuleType("trex.stl.api")
    api.STLClient, api.STLError = STLClient, STLError
    api.Ether, api.IP, api.UDP = lambda: Layer(14), lambda src, dst: Layer(20), lambda sport, dport: Layer(8)
    api.STLPktBuilder = lambda pkt: len(pkt)
    api.STLTXCont = lambda pps: {"pps": pps}
    api.STLStream = lambda packet, mode: {"packet": packet, "mode": mode}
    for name, module in {"trex": types.ModuleType("trex"), "trex.stl": types.ModuleType("trex.stl"), "trex.stl.api": api}.items():
        monkeypatch.setitem(sys.modules, name, module)
