"""A coordinator and what must outlive its process: its state, and alerts that are not published yet. No sockets here.

An alert is published (callback, table of alerts) only after a state that knows of it is on the disk. So after a crash
it is either raised again, because the state is from before it, or published again, because the state says so. The
table takes each alert once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

from ecmsketch.errors import ConfigError, EcmError
from ecmsketch.inputs.item_text import show_item
from ecmsketch.inputs.kinds import NOTHING
from ecmsketch.monitor import Alert, Contribution, Coordinator, Watch
from ecmsketch.monitor.item_coordinator import ItemCoordinator
from ecmsketch.net.state_files import StateFolder
from ecmsketch.net.watch_text import write_watch

if TYPE_CHECKING:
    from ecmsketch.alerts import AlertStore

_FILE = "coordinator.state"

Outgoing = list[tuple[str, bytes]]


class Raised(NamedTuple):
    """An alert that is to be published, and its number: they count from 0 in each folder."""

    number: int
    alert: Alert


class CoordinatorKeeper:
    """A coordinator's state, in memory and in a folder. Without a folder it is gone with the process."""

    def __init__(self, watch: Watch, folder: str | Path | None, name: str, alerts: str | None) -> None:
        self.name, self.watch = name, watch
        self.coordinator = Coordinator(watch)
        self.unpublished: list[Raised] = []
        self.raised = self.saved = 0
        """How many alerts were raised, and how many of them a state on the disk knows of."""
        self._generation = token_hex(8)
        self._store = None if alerts is None else _store(alerts)
        self._folder = None if folder is None else StateFolder(Path(folder), _FILE)
        found = None if self._folder is None else self._folder.read()
        self.restored = found is not None
        if found is not None:
            self._restore(*found)

    @property
    def items_above(self) -> list[Any]:
        """Items that are above the threshold, if single items are watched."""
        return self.coordinator.raised if isinstance(self.coordinator, ItemCoordinator) else []

    def receive(self, reports: list[tuple[str, bytes]]) -> tuple[Outgoing, dict[str, str]]:
        """Take reports of some sites; returns what to send, and what is wrong with the reports of which sites."""
        try:
            return self.coordinator.receive(*(data for _, data in reports)), {}
        except EcmError:
            pass  # none was taken; one by one shows which is wrong
        out: Outgoing = []
        wrong: dict[str, str] = {}
        for name, data in reports:
            try:
                out += self.coordinator.receive(data)
            except EcmError as error:
                wrong[name] = str(error)
        return out, wrong

    def leave_out(self, names: set[str]) -> Outgoing:
        """Go on without some sites until they report again."""
        gone = names & set(self.coordinator.sites) - self.coordinator.missing
        self.coordinator.missing |= gone
        return self.coordinator.resync() if gone else []

    def resync(self, now: int) -> Outgoing:
        """Begin anew after a restart: sites may know more than the state."""
        return self.coordinator.tick(now) + self.coordinator.resync()

    def collect(self) -> bool:
        """Take alerts that the coordinator has raised; returns whether there are any."""
        found = self.coordinator.alerts
        for alert in found:
            self.unpublished.append(Raised(self.raised, _plain(alert)))
            self.raised += 1
        fresh = bool(found)
        found.clear()
        return fresh

    def save(self) -> None:
        """Bring the state to the disk, if there is a folder. Only then the alerts that it knows of are published."""
        if self._folder is None:
            self.saved = self.raised
            return
        facts = {
            "watch": write_watch(self.watch), "generation": self._generation, "raised": self.raised, "name": self.name,
            "unpublished": [[raised.number, *raised.alert] for raised in self.unpublished],
        }  # fmt: skip
        self._folder.write(facts, self.coordinator.serialize())
        self.saved = self.raised

    def publish(self, raised: Raised, on_alert: Callable[[Alert], Any] | None) -> None:
        """Write an alert into the table, once, and call back."""
        if self._store is not None:
            self._store.append_once([raised.alert], self.name, raised.number, generation=self._generation)
        if on_alert is not None:
            on_alert(raised.alert)

    def close(self) -> None:
        """Save, and let another process use the folder."""
        if self._folder is not None:
            self.save()
            self._folder.close()

    def _restore(self, facts: dict[str, Any], data: bytes) -> None:
        given = write_watch(self.watch)
        if facts["watch"] != given or facts["name"] != self.name:
            raise ConfigError(
                f"--state: the folder belongs to another watch, {facts['name']!r} {facts['watch']}; give another "
                f"folder for {self.name!r} {given}, or delete this one"
            )
        try:
            self.coordinator = Coordinator.deserialize(data, self.watch)
        except EcmError as error:
            raise ConfigError(
                f"--state: the state of another version cannot be read ({error}); delete the folder to begin anew"
            ) from error
        self._generation, self.raised, self.saved = facts["generation"], facts["raised"], facts["raised"]
        self.unpublished = [Raised(number, _plain(Alert(*alert))) for number, *alert in facts["unpublished"]]


def _plain(alert: Alert) -> Alert:
    """An alert that JSON can hold: an item that is neither text nor a number becomes text."""
    known = alert.item is None or isinstance(alert.item, str | int)
    return alert._replace(
        item=alert.item if known else show_item(alert.item, NOTHING),
        sites=tuple(Contribution(*site) for site in alert.sites),
    )


def _store(path: str) -> AlertStore:
    try:
        from ecmsketch.alerts import AlertStore  # only who keeps alerts needs deltalake
    except ImportError as error:
        raise ConfigError("--alerts: a table needs deltalake; pip install 'ecmsketch[net,store]'") from error
    return AlertStore(path)
