"""A generated stand-in for the paper's second trace: wireless devices seen by the access points of a campus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ecmsketch.errors import ConfigError
from ecmsketch.generate.timeline import Ints, SlicedLog, Timeline
from ecmsketch.generate.zipf import Zipf
from ecmsketch.kernels.hashing import GOLDEN, Words, mix, to_fraction

_BEGIN = 1_067_749_200
"""Sunday, 2 November 2003, 0:00 in New Hampshire."""
_HOURS = (50, 42, 33, 26, 22, 20, 21, 28, 48, 68, 82, 90, 95, 98, 100, 98, 94, 88, 82, 80, 82, 83, 76, 63)
_WEEKDAYS = (72, 100, 103, 104, 102, 92, 66)
"""Relative activity, beginning with Sunday."""
_AT_HOME = 0.6
_STAY = 1_800
_SPREAD = np.uint64(GOLDEN)
_LOCAL, _ADDRESS = np.uint64(2 << 40), np.uint64((1 << 40) - 1)


@dataclass(frozen=True)
class SnmpLog(SlicedLog):
    """A generated log of exactly `events` messages: which device was seen at which access point (site), and when.

    It stands in for the Dartmouth SNMP trace. It has that trace's number of sites and kind of keys (MAC addresses), but
    none of its records: hours, weekdays, Zipf laws and the number of devices are assumed. A device is at one site at a
    time: at its home six times in ten, otherwise for half an hour at another site, preferably a crowded one. Logs with
    different seeds have the same devices and sites. The addresses come from the range that manufacturers do not use.
    """

    events: int
    seed: int = 0
    sites: int = 535
    days: int = 119
    devices: int = 7_000
    site_exponent: float = 0.8
    device_exponent: float = 0.9

    def __post_init__(self) -> None:
        self._check_settings(sites=self.sites, days=self.days, devices=self.devices)
        if max(self.devices, self.sites) > 2**31:
            raise ConfigError(f"sites, devices: got {self.sites}, {self.devices}, expected at most 2**31")
        self.crowding, self.activity  # noqa: B018  Zipf checks its parameters

    @property
    def timeline(self) -> Timeline:
        return _timeline(self.events, self.days)

    @property
    def crowding(self) -> Zipf:
        """The share of visits that each site attracts, by rank."""
        return Zipf(self.sites, self.site_exponent)

    @property
    def activity(self) -> Zipf:
        """The share of sightings of each device, by rank."""
        return Zipf(self.devices, self.device_exponent)

    def describe(self) -> str:
        return (
            f"generated: {self.events:,} sightings of {self.devices:,} devices at {self.sites:,} access points in "
            f"{self.days:,} days, seed {self.seed}; a stand-in for the Dartmouth SNMP trace with none of its records; "
            f"devices follow a Zipf law of exponent {self.device_exponent:g}, access points one of "
            f"{self.site_exponent:g}"
        )

    def slice(self, index: int) -> dict[str, Ints]:
        """The columns timestamp, site and device (its MAC address as a number) of one slice, in order of time."""
        random = self._random(index)
        seconds = self.timeline.seconds(index, random)
        devices = self.activity.ranks(random.random(len(seconds))).astype(np.uint64)
        places = self.crowding.ranks(to_fraction(self._whereabouts(devices, seconds)))
        addresses = _LOCAL | devices * _SPREAD & _ADDRESS  # the factor is odd, so addresses differ
        return {"timestamp": seconds, "site": _site_numbers(self.sites)[places], "device": addresses.view(np.int64)}

    def _whereabouts(self, devices: Words, seconds: Ints) -> Words:
        """A random word per event that decides where the device is: fixed while it is at home, or on one visit."""
        home = mix(devices + _SPREAD)
        arrival = (seconds.view(np.uint64) + home % np.uint64(_STAY)) // np.uint64(_STAY)
        visit = mix(home + arrival * _SPREAD + np.uint64(self.seed % 2**64))
        return np.where(to_fraction(visit) < _AT_HOME, home, mix(visit))


@lru_cache(maxsize=8)
def _timeline(events: int, days: int) -> Timeline:
    weekdays = np.resize(np.array(_WEEKDAYS), days)
    return Timeline(events, _BEGIN + 3600 * np.arange(24 * days + 1), np.outer(weekdays, _HOURS).ravel())


@lru_cache(maxsize=8)
def _site_numbers(sites: int) -> Ints:
    """The numbers of the sites, by rank."""
    return np.random.default_rng(sites).permutation(sites)
