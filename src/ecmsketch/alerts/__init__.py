"""What monitors noticed: written once into a Delta table, read by anyone."""

from ecmsketch.alerts.alert_store import AlertStore

__all__ = ["AlertStore"]
