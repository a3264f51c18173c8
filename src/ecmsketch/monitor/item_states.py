"""What a coordinator knows of an item, as bytes."""

from __future__ import annotations

from ecmsketch.monitor.any_item import Counted
from ecmsketch.monitor.item_limits import ABOVE, KnownItem, Standing
from ecmsketch.monitor.item_messages import Limits, name_bytes, read_name
from ecmsketch.monitor.wire import Reader, put_blob, put_float, put_number, put_signed, put_text


def item_parts(item: KnownItem) -> list[bytes]:
    """An item as bytes."""
    parts = [put_number(item.key), put_blob(name_bytes(item.key, item.name)), put_number(item.region)]
    parts.append(put_number(len(item.standings)))
    for site, known in item.standings.items():
        parts += [put_text(site), put_number(known.number), put_signed(known.tick), put_number(known.arrivals)]
        parts += [put_signed(number) for number in known.counted]
        parts += [put_float(known.limits.low), put_float(known.limits.high), put_number(known.open)]
    return parts


def read_item(reader: Reader) -> KnownItem:
    """The item that `item_parts` wrote."""
    key = reader.number(2**64 - 1)
    item = KnownItem(key, read_name(key, reader), reader.number(ABOVE))
    for _ in range(reader.number()):
        site, number, tick, arrivals = reader.text(), reader.number(), reader.signed(), reader.number()
        counted = Counted(reader.signed(), reader.signed(), reader.signed())
        limits = Limits(reader.float(), reader.float())
        item.standings[site] = Standing(number, tick, counted, arrivals, limits, reader.flag())
    return item
