"""Monitoring over a network: a coordinator and its sites as processes of their own (docs/monitoring.md)."""

try:
    import websockets  # noqa: F401
except ImportError as error:
    raise ModuleNotFoundError(
        "ecmsketch.net needs websockets; pip install 'ecmsketch[net]'", name="websockets"
    ) from error

from ecmsketch.net.addresses import Address, Listening, Reaching
from ecmsketch.net.coordinator_server import CoordinatorSettings, serve_coordinator
from ecmsketch.net.growing_file import GrowingFile
from ecmsketch.net.line_formats import LineFormat
from ecmsketch.net.net_status import NetStatus
from ecmsketch.net.passing_lines import Lines, PipedLines, PushedLines, UdpLines
from ecmsketch.net.site_runner import SiteSettings, run_site

__all__ = [
    "Address", "CoordinatorSettings", "GrowingFile", "LineFormat", "Lines", "Listening", "NetStatus", "PipedLines",
    "PushedLines", "Reaching", "SiteSettings", "UdpLines", "run_site", "serve_coordinator",
]  # fmt: skip
