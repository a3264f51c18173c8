"""Alerts in a Delta table: what monitors noticed, written once, read by anyone without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ecmsketch.inputs.item_text import show_item
from ecmsketch.inputs.kinds import NOTHING
from ecmsketch.monitor import Alert

try:
    import pyarrow as pa
    from deltalake import DeltaTable

    from ecmsketch.store.delta import DeltaFolder, Turn, check_writer, named
    from ecmsketch.store.table_follower import TableFollower, Version, version_of
except ImportError as error:
    raise ImportError("ecmsketch.alerts needs deltalake and pyarrow; pip install 'ecmsketch[store]'") from error

SCHEMA = pa.schema(
    [
        ("monitor", pa.string()),
        ("generation", pa.int64()),
        ("batch", pa.int64()),
        ("tick", pa.int64()),
        ("region", pa.int64()),
        ("previous", pa.int64()),
        ("value", pa.float64()),
        ("epoch", pa.int64()),
        ("written", pa.timestamp("us", "UTC")),
        ("item", pa.string()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("share", pa.float64()),
        ("sites", pa.list_(pa.struct([("site", pa.string()), ("value", pa.float64())]))),
    ]
)
_OF_ITEMS = ("item", "lower", "upper", "share", "sites")
"""Columns of alerts about one item. Tables of earlier versions lack them."""


class AlertStore:
    """Alerts of one or more monitors, in one Delta table."""

    def __init__(self, path: str | Path, storage_options: dict[str, str] | None = None) -> None:
        """`path` may be a URL (s3://...), `storage_options` are deltalake's. The first append creates the table."""
        self.path = str(path)
        self._folder = DeltaFolder(self.path, SCHEMA, "alerts", storage_options, later=_OF_ITEMS)
        self._follower = TableFollower(self._folder)

    def append_once(self, alerts: Iterable[Alert], monitor: str, batch: int, *, generation: str = "") -> bool:
        """Write alerts unless the monitor has written this batch or a later one; returns whether they were written.

        A monitor that begins anew says so by a new `generation`, any name: its batches count from 0 again.
        """
        monitor, batch, generation = check_writer(monitor, batch, generation)
        given = list(alerts)

        def records(_: DeltaTable, turn: Turn) -> Any:
            commit = {"monitor": monitor, "generation": turn.generation, "batch": batch, "written": datetime.now(UTC)}
            return pa.Table.from_pylist([{**commit, **_record(alert)} for alert in given], SCHEMA)

        return self._folder.append_once(monitor, batch, generation, records, create={})

    def version(self) -> Version:
        """Which table this is, and its newest version: as long as it is the same, so are the alerts. It is cheap."""
        return version_of(self._follower.table())

    def read(self, monitor: str | None = None) -> list[dict[str, Any]]:
        """All alerts, or one monitor's, oldest first; also those of earlier generations, which tell them apart.

        `item` is the item as text, and `sites` a list of {"site", "value"}; both are None where no item is meant.
        """
        with named(self.path):
            rows = self._folder.open().to_pyarrow_table().to_pylist()
        mine = [dict.fromkeys(_OF_ITEMS) | row for row in rows if monitor in (None, row["monitor"])]
        return sorted(mine, key=lambda row: (row["tick"], row["generation"], row["batch"], row["epoch"]))


def _record(alert: Alert) -> dict[str, Any]:
    about_item = alert.item is not None
    item = show_item(alert.item, NOTHING) if about_item else None
    return alert._asdict() | {"item": item, "sites": [site._asdict() for site in alert.sites] if about_item else None}
