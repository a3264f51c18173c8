"""Watch a function of all sites' streams without shipping the streams (paper section 6.2, docs/monitoring.md)."""

from ecmsketch.monitor.alert import Alert, Contribution
from ecmsketch.monitor.any_item import AnyItem, AnyShare
from ecmsketch.monitor.channel import Channel
from ecmsketch.monitor.coordinator import Coordinator
from ecmsketch.monitor.custom import Custom
from ecmsketch.monitor.events import Events
from ecmsketch.monitor.functions import Frequency, Function, HeavyHitterShare, Total, Zone
from ecmsketch.monitor.inner_product import InnerProduct
from ecmsketch.monitor.self_join import SelfJoin
from ecmsketch.monitor.simulation import Outage, Simulation, simulate, simulate_vectors
from ecmsketch.monitor.site import Site
from ecmsketch.monitor.thresholds import Above, Between, Threshold, Tracking
from ecmsketch.monitor.vector_site import VectorSite
from ecmsketch.monitor.watch import Watch

__all__ = [
    "Above", "Alert", "AnyItem", "AnyShare", "Between", "Channel", "Contribution", "Coordinator", "Custom", "Events",
    "Frequency", "Function", "HeavyHitterShare", "InnerProduct", "Outage", "SelfJoin", "Simulation", "Site",
    "Threshold", "Total", "Tracking", "VectorSite", "Watch", "Zone", "simulate", "simulate_vectors",
]  # fmt: skip
