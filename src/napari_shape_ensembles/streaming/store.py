"""Folder of a run in pieces: arrays of individual pieces, written atomically, with a key of all inputs."""

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from .._types import Real
from ..archive import ContentError, Tree, npy_header, opened, read_archive, write_archive, write_bytes

_RUN_FILE = "run.json"
_FORMAT, _LAYOUT = "shape-ensembles run in pieces", 1


@dataclass(frozen=True)
class Store:
    """Folder of a run, and number of curves per block."""

    folder: Path
    rows: int

    def begin(self, key: str, pieces: int) -> None:
        """Resume a folder left by a run with the same key, or start a new one.

        Raises
        ------
        ValueError
            If the folder holds anything else.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        known = self.folder / _RUN_FILE
        wanted = {"format": _FORMAT, "version": _LAYOUT, "key": key, "pieces": pieces}
        if known.is_file():
            try:
                found = json.loads(known.read_bytes())
            except ValueError as error:
                raise ContentError(f"{known} is damaged: choose another folder") from error
            if found != wanted:
                raise ContentError(
                    f"{self.folder} holds a run of other inputs, settings or another version: choose another folder, "
                    "or delete it"
                )
        elif any(self.folder.iterdir()):
            raise ContentError(f"{self.folder} holds other files: choose an empty folder")
        else:
            write_bytes(known, json.dumps(wanted).encode())

    def path(self, index: int, name: str) -> Path:
        """Return the path of an array of a piece."""
        return self.folder / f"{index:07d}.{name}.npy"

    def write_rows(self, index: int, name: str, shape: tuple[int, ...], parts: Iterator[Real]) -> None:
        """Write an array of a piece block by block."""
        draft, start = self._draft(index, name), 0
        with draft.open("wb") as file:
            npy.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
            for part in parts:
                file.write(np.ascontiguousarray(part, dtype="<f8").data.cast("B"))
                start += len(part)
        if start != shape[0]:
            raise RuntimeError(f"{start} rows of {name} instead of {shape[0]}")
        os.replace(draft, self.path(index, name))

    def _draft(self, index: int, name: str) -> Path:
        return self.folder / f".{index:07d}.{name}.{secrets.token_hex(4)}.part"

    def blocks(self, index: int, name: str) -> Iterator[Real]:
        """Yield an array of a piece in blocks of rows, without loading all of it."""
        with opened(self.path(index, name)) as file:
            shape, _, _ = npy_header(file)
            width = int(np.prod(shape[1:]))
            for start in range(0, shape[0], self.rows):
                count = min(self.rows, shape[0] - start)
                found = np.fromfile(file, np.float64, count * width)
                yield found.reshape(count, *shape[1:])

    def row(self, index: int, name: str, place: int) -> Real:
        """Read one row of an array of a piece."""
        with opened(self.path(index, name)) as file:
            shape, _, _ = npy_header(file)
            width = int(np.prod(shape[1:]))
            file.seek(place * width * 8, os.SEEK_CUR)
            return np.fromfile(file, np.float64, width).reshape(shape[1:])

    def shape(self, index: int, name: str) -> tuple[int, ...]:
        """Return the shape of an array of a piece."""
        with opened(self.path(index, name)) as file:
            return npy_header(file)[0]

    def save(self, index: int, name: str, tree: Mapping[str, Any]) -> None:
        """Save a tree of arrays and metadata of a piece."""
        write_archive(self._tree_path(index, name), _FORMAT, _LAYOUT, tree)

    def load(self, index: int, name: str) -> Tree | None:
        """Return the saved tree of a piece; None if there is none."""
        path = self._tree_path(index, name)
        return read_archive(path, _FORMAT, _LAYOUT, lambda tree: tree) if path.is_file() else None

    def forget(self, index: int, name: str) -> None:
        """Delete a saved tree of a piece."""
        self._tree_path(index, name).unlink(missing_ok=True)

    def _tree_path(self, index: int, name: str) -> Path:
        return self.folder / f"{index:07d}.{name}.npz"

    def drop(self, index: int, *names: str) -> None:
        """Delete arrays of a piece that are no longer needed."""
        for name in names:
            self.path(index, name).unlink(missing_ok=True)


def key_of(parts: Mapping[str, Any]) -> str:
    """Return the checksum of everything that a run depends on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
