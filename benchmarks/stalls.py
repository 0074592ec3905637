"""Measures how long the event loop of a window is blocked, and by whose code.

The time that the window's thread works during a stall is split into that of this package, that of napari with vispy and
Qt, whoever called them, and garbage collection. A sample of the stack counts for the innermost of the two packages in
it: NumPy called by this package is its own, and a layer that it adds is napari's as long as napari is at work. So does
a garbage collection: it is this package's own if it was called, or set off, in its code.
"""

import gc
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from qtpy.QtCore import QTimer

#: Interval of the ticks of the event loop in milliseconds, and of the samples in seconds.
TICK_MS, SAMPLE_S = 5, 0.002
OWN, NAPARI = "own", "napari"
_PACKAGES = {"napari_shape_ensembles": OWN, "napari": NAPARI, "vispy": NAPARI, "superqt": NAPARI, "qtpy": NAPARI}


class Stall(NamedTuple):
    """A pause between two ticks of the event loop, in seconds."""

    blocked: float  #: on the clock
    worked: float  #: processor time of the window's thread
    own: float  #: of that, in code of this package
    collecting: float  #: of that, in garbage collections of others
    where: str  #: the function of this package in which most of its own time was spent

    def __str__(self) -> str:
        parts = f"this package {1000 * self.own:.0f}, others' garbage collections {1000 * self.collecting:.0f}"
        at = f"; {self.where}" if self.own > 0.02 else ""
        return f"{1000 * self.blocked:.0f} ms on the clock, {1000 * self.worked:.0f} of work ({parts}{at})"


class StallMeter:
    """Collects the pauses of the event loop of the main thread that are longer than `longer_than` seconds."""

    def __init__(self, longer_than: float = 0.05) -> None:
        self.stalls: list[Stall] = []
        self._longer_than = longer_than
        self._begun, self._collected = 0.0, Counter[str]()  # start of a collection; time of collections, by package
        self._samples: Counter[tuple[str, str]] = Counter()
        self._last, self._stopped = self._now(), threading.Event()
        gc.callbacks.append(self._on_collection)
        self._main = threading.main_thread().ident
        threading.Thread(target=self._sample, daemon=True).start()
        self._timer = QTimer()
        self._timer.timeout.connect(self._tick)
        self._timer.start(TICK_MS)

    def longest(self, count: int = 3) -> list[Stall]:
        """The longest stalls since the last call of `restart`, by the work of the window's thread."""
        return sorted(self.stalls, key=lambda stall: stall.worked, reverse=True)[:count]

    def restart(self) -> None:
        """Forget all stalls, and the time since the last tick."""
        self.stalls.clear()
        self._samples.clear()
        self._collected.clear()
        self._last = self._now()

    def stop(self) -> None:
        """Stop measuring."""
        self._timer.stop()
        gc.callbacks.remove(self._on_collection)
        self._stopped.set()

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.thread_time()

    def _tick(self) -> None:
        now = self._now()
        blocked, worked = now[0] - self._last[0], now[1] - self._last[1]
        if blocked > self._longer_than + TICK_MS / 1000:
            working, total = max(worked - self._collected.total(), 0.0), self._samples.total()
            own = Counter({where: count for (whose, where), count in self._samples.items() if whose == OWN})
            share = own.total() / total if total else 0.0
            where = own.most_common(1)[0][0] if own else ""
            collected = self._collected
            self.stalls.append(Stall(blocked, worked, share * working + collected[OWN], collected[NAPARI], where))
        self._samples.clear()
        self._collected.clear()
        self._last = now

    def _on_collection(self, phase: str, _: object) -> None:
        if threading.get_ident() == self._main:
            if phase == "start":
                self._begun = time.thread_time()
            else:
                self._collected[_whose(sys._getframe().f_back)[0]] += time.thread_time() - self._begun

    def _sample(self) -> None:
        while not self._stopped.wait(SAMPLE_S) and threading.main_thread().is_alive():
            if time.perf_counter() - self._last[0] > 2 * TICK_MS / 1000:
                # No switch of threads meanwhile: what a frame holds would be freed in this one, which crashes Qt.
                interval = sys.getswitchinterval()
                sys.setswitchinterval(60)
                self._samples[_whose(sys._current_frames().get(self._main or 0))] += 1
                sys.setswitchinterval(interval)


def _whose(frame: FrameType | None) -> tuple[str, str]:
    """The package that a stack executes, and the innermost function of this package in it."""
    found = ""
    while frame is not None:
        parts = Path(frame.f_code.co_filename).parts
        package = next((_PACKAGES[part] for part in reversed(parts[:-1]) if part in _PACKAGES), "")
        found = found or package
        if package == OWN:
            return found, f"{'/'.join(parts[-2:])}:{frame.f_lineno} {frame.f_code.co_qualname}"
        frame = frame.f_back
    return found or NAPARI, ""
