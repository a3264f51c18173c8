"""A site and what must outlive its process: its sketches, and up to where the input was read. No sockets here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from secrets import token_hex
from typing import Any

from ecmsketch.errors import ConfigError, EcmError
from ecmsketch.monitor import Site, Watch
from ecmsketch.monitor.messages import check_name
from ecmsketch.net.control import Beat
from ecmsketch.net.line_formats import Batch
from ecmsketch.net.state_files import StateFolder
from ecmsketch.net.wall_clock import now_tick, unit_of
from ecmsketch.net.watch_text import read_watch, write_watch

_FILE = "site.state"


class SiteKeeper:
    """A site's state, in memory and in a folder. Without a folder it is gone with the process.

    `site` is None until the coordinator has said what is watched. A site that was read from a folder begins anew with
    its coordinator, since messages may have come after its state was written; its sketches are not touched by that.
    """

    def __init__(self, name: str, folder: str | Path | None) -> None:
        self.name, self.id = check_name(name), token_hex(16)
        self.site: Site | None = None
        self.counts: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.position: dict[str, Any] | None = None
        self._folder = None if folder is None else StateFolder(Path(folder), _FILE)
        found = None if self._folder is None else self._folder.read()
        if found is not None:
            self._restore(*found)

    @property
    def watch(self) -> Watch | None:
        """What is watched, once it is known."""
        return None if self.site is None else self.site.watch

    def begin(self, watch: Watch) -> None:
        """Take what the coordinator watches; a ConfigError if it is something else than before."""
        if self.site is None:
            unit_of(watch)
            self.site = Site(self.name, watch)
            self.save()
        elif write_watch(watch) != write_watch(self.site.watch):
            raise ConfigError(
                f"--coordinator: it watches {watch.function!r} {watch.threshold!r}, but the state of site "
                f"{self.name!r} is of {self.site.watch.function!r} {self.site.watch.threshold!r}; give another "
                "folder by --state, or delete this one"
            )

    def observe(self, batch: Batch, position: dict[str, Any] | None) -> list[bytes]:
        """Count events and check; returns what to send. The position goes with them."""
        assert self.site is not None
        out = []
        for stream, (items, ticks, weights) in batch.streams.items():
            out += self.site.observe(items, ticks, weights, stream)
            self.counts["events"] += len(items)
        self.rejected.update(batch.rejected)
        self.position = position
        return out

    def beat(self) -> Beat:
        """What the site tells of itself while it is silent."""
        assert self.site is not None
        late = sum(self.site.sketch(stream).late_dropped for stream in self.site.watch.function.streams)
        clock = now_tick(unit_of(self.site.watch))
        counts = self.counts
        return Beat(max(self.site.now or 0, clock), counts["events"], self.rejected.total(), late, counts["lost"])

    def save(self) -> None:
        """Bring the state to the disk, if there is a folder."""
        if self._folder is None or self.site is None:
            return
        facts = {
            "name": self.name, "id": self.id, "watch": write_watch(self.site.watch), "position": self.position,
            "counts": self.counts, "rejected": self.rejected,
        }  # fmt: skip
        self._folder.write(facts, self.site.serialize())

    def close(self) -> None:
        """Save, and let another process use the folder."""
        if self._folder is not None:
            self.save()
            self._folder.close()

    def _restore(self, facts: dict[str, Any], data: bytes) -> None:
        if facts["name"] != self.name:
            raise ConfigError(
                f"--state: the folder belongs to site {facts['name']!r}, not to {self.name!r}; give another folder"
            )
        try:
            self.site = Site.deserialize(data, read_watch(facts["watch"]))
        except EcmError as error:
            raise ConfigError(
                f"--state: the state of another version cannot be read ({error}); delete the folder to begin anew"
            ) from error
        self.id, self.position = facts["id"], facts["position"]
        self.counts, self.rejected = Counter(facts["counts"]), Counter(facts["rejected"])
        self.site.rejoin()  # its report is repeated if nobody answers
