"""A cursor: up to which alert of which table a receiver has accepted them, in a file that outlives the process."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ecmsketch.errors import StoreError
from ecmsketch.whole_files import whole_file


class Place(NamedTuple):
    """The place of an alert among all of its monitor in a table: they are committed in this order."""

    generation: int
    batch: int
    number: int
    """Its place in the batch, from 0."""


BEFORE_ALL = Place(0, -1, -1)


class Cursor:
    """The last alert that was accepted. In another table than the one it was noted for, nothing was accepted yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._table, self._place = _read(path)

    def place(self, table: str) -> Place:
        """The last alert of a table that was accepted."""
        return self._place if table == self._table else BEFORE_ALL

    def move(self, table: str, place: Place) -> None:
        """Note that an alert was accepted, and all before it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self._path) as part:
            part.write_text(json.dumps({"table": table, **place._asdict()}))
        self._table, self._place = table, place


def _read(path: Path) -> tuple[str, Place]:
    try:
        noted = json.loads(path.read_bytes())
        return str(noted["table"]), Place(*(int(noted[name]) for name in Place._fields))
    except FileNotFoundError:
        return "", BEFORE_ALL
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path}: this is not the cursor of a webhook ({error}); delete it to send all alerts again"
        ) from error


def cursor_path(alerts: str, folder: str, monitor: str, url: str) -> Path:
    """Where the cursor of a monitor and a webhook is: beside the alerts, or in `folder` if those are not on a disk."""
    name = sha256(json.dumps([monitor, url]).encode()).hexdigest()[:16]
    return Path(folder if "://" in alerts else alerts) / "_webhook" / f"{name}.json"  # Delta leaves _ folders alone


def placed(alerts: list[dict[str, Any]]) -> list[tuple[Place, dict[str, Any]]]:
    """A monitor's alerts in the order in which they were raised, with their places."""
    ordered = sorted(alerts, key=lambda alert: (alert["generation"], alert["batch"], alert["epoch"], alert["tick"]))
    found: list[tuple[Place, dict[str, Any]]] = []
    for alert in ordered:
        before = found[-1][0] if found else BEFORE_ALL
        same = before[:2] == (alert["generation"], alert["batch"])
        found.append((Place(alert["generation"], alert["batch"], before.number + 1 if same else 0), alert))
    return found
