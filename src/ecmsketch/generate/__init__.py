"""Generated logs of any length, made one slice at a time: reproducible on any machine, in any order, in little memory.

>>> log = WorldCupLog(events=1_000_000_000, day=44, days=30)
>>> log.slices, len(log.slice(3999))
(4000, 249800)
"""

from ecmsketch.generate.snmp_log import SnmpLog
from ecmsketch.generate.timeline import SlicedLog
from ecmsketch.generate.worldcup_log import WorldCupLog
from ecmsketch.generate.zipf import Zipf

__all__ = ["SlicedLog", "SnmpLog", "WorldCupLog", "Zipf"]
