"""Options for sending alerts to a webhook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ecmsketch.cli.output import say

if TYPE_CHECKING:
    from ecmsketch.alerts.webhook import Webhook


@dataclass(frozen=True)
class WebhookOptions:
    """Where alerts are sent, and the secret that signs them."""

    webhook: Annotated[str | None, typer.Option(help="Also send each alert to this address, as JSON by POST.")] = None
    webhook_secret_file: Annotated[
        str | None, typer.Option(help="File with the secret that signs what is sent to --webhook.")
    ] = None

    def check(self, alerts: str | None) -> None:
        """Raise an error if the options do not fit together, or the secret cannot be read."""
        if self.webhook is None:
            if self.webhook_secret_file is not None:
                raise typer.BadParameter("there is nothing to sign: give --webhook", param_hint="--webhook-secret-file")
            return
        if alerts is None:
            raise typer.BadParameter(
                "alerts are sent from their table, so that none is lost: give --alerts", param_hint="--webhook"
            )
        self._receiver()

    @contextmanager
    def delivering(self, alerts: str | None, folder: str, monitor: str) -> Iterator[None]:
        """Deliver a monitor's alerts while the block runs, and for some seconds after it."""
        if self.webhook is None or alerts is None:
            yield
            return
        from ecmsketch.alerts import AlertStore
        from ecmsketch.alerts.cursor import Cursor, cursor_path
        from ecmsketch.alerts.delivery import Delivery

        cursor = Cursor(cursor_path(alerts, folder, monitor, self.webhook))
        delivery = Delivery(AlertStore(alerts), monitor, self._receiver(), cursor, say).start()
        try:
            yield
        finally:
            delivery.close()

    def _receiver(self) -> Webhook:
        from ecmsketch.alerts.webhook import Webhook, read_secret

        assert self.webhook is not None
        secret = None
        if self.webhook_secret_file is not None:
            try:
                secret = read_secret(Path(self.webhook_secret_file).read_bytes(), "--webhook-secret-file")
            except OSError as error:
                raise typer.BadParameter(
                    f"{self.webhook_secret_file} cannot be read: {error.strerror}", param_hint="--webhook-secret-file"
                ) from error
        return Webhook(self.webhook, secret)
