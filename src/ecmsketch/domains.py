"""Ordered values as numbers, for PrefixSketch: a < b if and only if encode(a) < encode(b).

>>> import ecmsketch as ecm
>>> latencies = ecm.PrefixSketch(ecm.SketchConfig(epsilon=0.01, delta=0.01, window=60), bits=floats.bits)
>>> latencies.update_many(floats.encode([0.25, 0.5, 1.75]), [1, 2, 3])
>>> floats.name(latencies.quantile(0.5).value)
0.5
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError
from ecmsketch.inputs.columns import adopt, as_column, count_missing, is_integer, missing_values, wrong_type


class Domain(NamedTuple):
    """An order-preserving encoding: `bits` for PrefixSketch, `encode` for columns, `name` for results."""

    bits: int
    encode: Callable[[Any], NDArray[np.uint64]]
    name: Callable[[int], Any]
    """Gives back what a number stands for."""


def _encode_floats(values: Any) -> NDArray[np.uint64]:
    one = not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0
    given = as_column([values] if one else values, "floats")
    if len(given) and given.dtype.kind in "mMcV":
        raise wrong_type(given, "floats", "numbers")
    try:
        column = np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        missing = count_missing(given.tolist())
        if missing:
            raise missing_values("floats", missing, len(given)) from error
        raise InputError(f"floats: expected numbers, got {values!r}") from error
    if np.isnan(column).any():
        raise InputError(
            f"floats: {int(np.isnan(column).sum())} of {len(column)} are NaN, which has no place in an order"
        )
    bits = (column + 0.0).view(np.int64)  # adding zero makes -0.0 equal to 0.0
    return np.where(bits < 0, ~bits, bits | np.int64(-(2**63))).view(np.uint64)


def _float_name(number: int) -> float:
    number = _checked(number, 64)
    bits = number ^ (1 << 63) if number >> 63 else ~number & (2**64 - 1)
    return float(np.array([bits], np.uint64).view(np.float64)[0])


def _checked(number: int, bits: int) -> int:
    if not is_integer(number) or not 0 <= number < 1 << bits:
        raise InputError(f"name: expected a number from 0 to 2**{bits} - 1, got {number!r}")
    return int(number)


def _encode_ipv4(addresses: Any) -> NDArray[np.uint64]:
    return _addresses(addresses, IPv4Address, 0)


def _encode_ipv6(addresses: Any) -> NDArray[np.uint64]:
    return _addresses(addresses, IPv6Address, 64)


def _addresses(addresses: Any, kind: type[IPv4Address] | type[IPv6Address], drop: int) -> NDArray[np.uint64]:
    one = isinstance(addresses, str | bytes) or not isinstance(addresses, Iterable)
    given = [addresses] if one else _as_objects(adopt(addresses))
    known: dict[Any, int] = {}
    for address in {repr(address): address for address in given}.values():
        try:
            known[address] = int(kind(int(address) if isinstance(address, int) else address)) >> drop
        except (TypeError, ValueError) as error:
            missing = count_missing(given)
            if missing:
                raise missing_values("addresses", missing, len(given)) from error
            raise InputError(f"addresses: expected {kind.__name__[:4]} addresses, got {address!r}") from error
    return np.array([known[address] for address in given], np.uint64)


def _as_objects(addresses: Iterable[Any]) -> list[Any]:
    """Addresses as Python objects: `ipaddress` takes no numbers or texts of numpy and Arrow."""
    is_column = hasattr(addresses, "dtype") or hasattr(addresses, "null_count")
    return as_column(addresses, "addresses").tolist() if is_column else list(addresses)


def network_range(network: str) -> tuple[int, int]:
    """The numbers (low, high) of an IPv4 network such as "10.0.0.0/8", for `range_sum`; of IPv6, its /64 networks."""
    try:
        block: IPv4Network | IPv6Network = IPv6Network(network) if ":" in str(network) else IPv4Network(str(network))
    except ValueError as error:
        raise InputError(f"network: expected an address block like '10.0.0.0/8', got {network!r}: {error}") from error
    drop = 64 if isinstance(block, IPv6Network) else 0
    return int(block.network_address) >> drop, int(block.broadcast_address) >> drop


floats = Domain(64, _encode_floats, _float_name)
"""64-bit floats, negative ones and infinities too; -0.0 counts as 0.0, and NaN is an error."""

ipv4 = Domain(32, _encode_ipv4, lambda number: str(IPv4Address(_checked(number, 32))))
"""IPv4 addresses."""

ipv6 = Domain(64, _encode_ipv6, lambda number: f"{IPv6Address(_checked(number, 64) << 64)}/64")
"""IPv6 addresses by their /64 network, the part that is routed: a sketch holds 64 bits."""
