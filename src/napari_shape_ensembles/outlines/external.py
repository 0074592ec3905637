"""Segmenters in Python environments of their own: another process, with which files are exchanged."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..progress import report

#: Environment variable that names the Python of each segmenter: "cellpose=/opt/cellpose/bin/python; stardist=…".
VARIABLE = "NAPARI_SHAPE_ENSEMBLES_SEGMENTERS"
#: Packages that the worker can run.
PACKAGES = ("cellpose", "stardist", "micro-sam")

_WORKER = Path(__file__).with_name("external_worker.py")
# Interval in seconds at which a running process is polled, and the time allowed for a version and for an image.
_POLL_S, _VERSION_LIMIT_S, LIMIT_S = 0.1, 120.0, 3600.0
# Number of the last characters of its messages that an error quotes.
_QUOTED = 300
# What a version consists of, and the bytes of labels per value of the image and of the header of their file, at most.
_VERSION, _MAX_BYTES, _HEADER_BYTES = r"[0-9][\w.!+-]*", 16, 10_000
# Pythons given in a form, which take precedence over the environment variable.
_chosen: dict[str, str] = {}


def choose_pythons(text: str) -> None:
    """Set the Python of each segmenter, in the form of the environment variable; "" for none.

    Raises
    ------
    ValueError
        For anything else.
    """
    found = _parsed(text)
    _chosen.clear()
    _chosen.update(found)


def pythons() -> dict[str, str]:
    """Return the Python of each segmenter that has one, by the name of its package."""
    return _parsed(os.environ.get(VARIABLE, "")) | _chosen


def _parsed(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(";") if part.strip()]
    for name, _, python in pairs:
        if name.strip() not in PACKAGES or not python.strip():
            raise ValueError(
                f"{name.strip()!r} in {text!r} is not a segmenter with its Python: write it as "
                f"{PACKAGES[0]}=/path/to/python; the segmenters are {', '.join(PACKAGES)}"
            )
    return {name.strip(): python.strip() for name, _, python in pairs}


@dataclass(frozen=True)
class External:
    """A segmenter in another environment, as a function from an image to labels.

    Attributes
    ----------
    package, model, version : str
        The name of the package; of one of its models, empty for its default; and the version of the package that is
        required, empty for any.
    python : str
        Path of the Python that has the package.
    """

    package: str
    model: str
    version: str
    python: str

    @classmethod
    def named(cls, find: str) -> "External | None":
        """Return the segmenter of a name such as "cellpose", "cellpose:cyto3" or "cellpose:cyto3==3.1.1"; else None.

        Raises
        ------
        ValueError
            If it is one, and no Python is given for it.
        """
        name, _, version = find.partition("==")
        package, _, model = name.partition(":")
        if package not in PACKAGES:
            return None
        if package not in pythons():
            raise ValueError(
                f"{package} runs in a Python of its own: give its path in napari's preferences, or in the environment "
                f"variable {VARIABLE} as {package}=/path/to/python"
            )
        return cls(package, model, version, pythons()[package])

    def __str__(self) -> str:
        return self.package + (self.model and f":{self.model}") + (self.version and f"=={self.version}")

    def installed(self) -> str:
        """Return the version of the package in its environment.

        Raises
        ------
        ValueError
            If the process fails, or prints no version.
        """
        printed, _ = self._run(_VERSION_LIMIT_S, f"asking for the version of {self.package}", self.package)
        last = (printed.splitlines() or [""])[-1].strip()  # after what packages print when they are imported
        if not re.fullmatch(_VERSION, last):
            raise ValueError(f"its Python {self.python} prints no version of {self.package}, but {last[:40]!r}")
        return last

    def __call__(self, image: Any) -> NDArray[Any]:
        """Return what the segmenter returns for an image.

        Raises
        ------
        ValueError
            For another version than the required one, and if the process ends without labels.
        """
        if self.version and (installed := self.installed()) != self.version:
            raise ValueError(
                f"{self.package} {installed} is installed, and the recipe was made with {self.version}: install that, "
                f"or take find={str(External(self.package, self.model, '', self.python))!r}"
            )
        with TemporaryDirectory(prefix="shape-ensembles-") as folder:
            given, returned = Path(folder, "image.npy"), Path(folder, "labels.npy")
            pixels = np.asarray(image)
            np.save(given, pixels)
            call = self.package, self.model, str(given), str(returned)
            _, messages = self._run(LIMIT_S, f"segmenting with {self}", *call)
            if not returned.is_file():
                raise ValueError("it ended without labels" + (messages and f": {messages}"))
            if returned.stat().st_size > _MAX_BYTES * pixels.size + _HEADER_BYTES:
                raise ValueError(f"it returned {returned.stat().st_size} bytes, too many for {pixels.shape[:2]} pixels")
            try:
                labels: NDArray[Any] = np.load(returned, allow_pickle=False)
            except (ValueError, EOFError) as error:
                raise ValueError("it returned a file that holds no array of numbers, or not all of one") from error
        return labels

    def _run(self, limit: float, step: str, *arguments: str) -> tuple[str, str]:
        """Run the worker until it ends; return what it prints, and the end of its messages."""
        with TemporaryDirectory(prefix="shape-ensembles-") as folder:
            texts = Path(folder, "out.txt"), Path(folder, "messages.txt")
            with texts[0].open("wb") as out, texts[1].open("wb") as err:
                try:
                    process = subprocess.Popen(
                        [self.python, str(_WORKER), *arguments],
                        stdin=subprocess.DEVNULL,
                        stdout=out,
                        stderr=err,
                        start_new_session=sys.platform != "win32",
                    )
                except OSError as error:
                    raise ValueError(f"its Python {self.python} cannot be started: {error.strerror}") from error
                try:
                    self._wait(process, limit, step)
                finally:
                    _end(process)
            printed, written = (text.read_text(encoding="utf-8", errors="replace") for text in texts)
        messages = _end_of(written)
        if code := process.returncode:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else ""
            ended = f"its process ended with code {code}" + (name and f" ({name})")
            raise ValueError(ended + (messages and f": {messages}"))
        return printed, messages

    def _wait(self, process: "subprocess.Popen[bytes]", limit: float, step: str) -> None:
        """Wait for a process to end, and report, so that it can be cancelled."""
        start = monotonic()
        while True:
            report(step)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S)
                return
            if monotonic() - start > limit:
                raise ValueError(f"it did not end within {limit:g} s, and was stopped")


def _end_of(messages: str) -> str:
    """Return the last lines of messages, without control characters and what could not be decoded."""
    text = "".join(sign for sign in messages if sign == "\n" or (sign.isprintable() and sign != "\ufffd")).strip()
    end = text[-_QUOTED:]
    return end if len(end) == len(text) or "\n" not in end else end.partition("\n")[2]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and those that it has started."""
    if process.poll() is None:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
