"""A Kafka topic as the source of a stream, read from options."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ecmsketch.cli.live import LiveOptions, prepare
from ecmsketch.errors import InputError

if TYPE_CHECKING:
    from ecmsketch.config import SketchConfig

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_BROKERS = re.compile(r"[^\s,:]+:\d+|\[[0-9a-fA-F:]+\]:\d+")


@dataclass(frozen=True)
class KafkaOptions:
    """Options of a topic that is read instead of files: where it is, and what its messages are."""

    kafka: Annotated[
        str | None, typer.Option(help="Read a Kafka topic instead of files: HOST:PORT of brokers, with commas.")
    ] = None
    topic: Annotated[str | None, typer.Option(help="Kafka: the topic.")] = None
    format: Annotated[str, typer.Option(help="Kafka: format of the messages, json, csv or avro.")] = "json"
    integer: Annotated[
        list[str] | None, typer.Option(help="Kafka: an item or site to count as integers. Default: all are texts.")
    ] = None
    columns: Annotated[str | None, typer.Option(help="Kafka: names of the columns of csv, with commas.")] = None
    schema: Annotated[str | None, typer.Option(help="Kafka: file with the Avro schema, as JSON.")] = None
    schema_id: Annotated[
        int | None,
        typer.Option(help="Kafka: messages have Confluent's five bytes with this id.", min=0, max=2**32 - 1),
    ] = None
    start: Annotated[
        str, typer.Option("--from", help='Kafka: where a new query starts: earliest, latest or {"TOPIC": {"0": 17}}.')
    ] = "earliest"
    trigger_rows: Annotated[int, typer.Option(help="Kafka: most messages a trigger.", min=1, max=10**9)] = 1_000_000
    allow_loss: Annotated[
        bool, typer.Option("--allow-loss", help="Kafka: go on if messages were deleted before they were read.")
    ] = False
    kafka_config: Annotated[
        str | None, typer.Option(help="Kafka: file with settings of the client, NAME=VALUE, such as security.protocol.")
    ] = None
    jars: Annotated[str | None, typer.Option(help="Kafka: folder with the archives of Spark's connector.")] = None
    packages: Annotated[bool, typer.Option("--packages", help="Kafka: let Spark fetch the connector.")] = False

    def check_unused(self) -> None:
        """Raise an error if something is said of a topic, but there is none."""
        for field in fields(self):
            if field.name != "kafka" and getattr(self, field.name) != field.default:
                option = "from" if field.name == "start" else field.name.replace("_", "-")
                raise typer.BadParameter("it is about a Kafka topic: give --kafka too", param_hint=f"--{option}")

    def source(self, live: LiveOptions, checkpoint: str) -> KafkaSource:
        """The topic as a source, if the options fit together."""
        if live.path is not None or live.rate is not None or live.new_files:
            raise typer.BadParameter("give a folder, --rate or --kafka, and only one of them", param_hint="--kafka")
        if self.topic is None or not live.item or live.tick is None:
            raise typer.BadParameter("give the topic and its fields: --topic, --item and --tick", param_hint="--kafka")
        if not _TOPIC.fullmatch(self.topic):
            raise typer.BadParameter(
                f"expected 1 to 249 of the characters a-z A-Z 0-9 . _ -, got {self.topic!r}", param_hint="--topic"
            )
        if not all(_BROKERS.fullmatch(broker) for broker in str(self.kafka).split(",")):
            raise typer.BadParameter(f"expected HOST:PORT, got {self.kafka!r}", param_hint="--kafka")
        item = live.item if len(live.item) > 1 else live.item[0]
        return KafkaSource(self, self.topic, item, live.tick, live.site, live.weight, checkpoint)


class KafkaSource(NamedTuple):
    """A topic, and which field of its messages is what."""

    options: KafkaOptions
    topic: str
    item: str | list[str]
    tick: str
    site: str | None
    weight: str | None
    checkpoint: str

    @property
    def name(self) -> str:
        """The name of the stream. The brokers are no part of it: they may change."""
        return f"kafka:{self.topic}"

    def check(self, config: SketchConfig) -> None:
        """Raise an error, before Spark starts, if the options are wrong or the connector is missing."""
        from ecmsketch.spark.column_roles import make_roles
        from ecmsketch.spark.message_parsing import check_fields

        if config.unit is None:
            raise typer.BadParameter("the ticks of a stream are times: give their unit", param_hint="--unit")
        roles = make_roles(config, self.item, self.tick, self.site, self.weight)
        check_fields(roles, self.options.format, **self._of_fields())
        self._starting()
        self._client()
        self.settings()

    def settings(self) -> dict[str, str]:
        """Settings of the Spark session: where the connector is, and limits for hostile Avro."""
        from ecmsketch.cli.connector import connector_settings

        avro = self.options.format == "avro"
        given = connector_settings(self.options.jars, self.options.packages, avro)
        if avro:
            from ecmsketch.spark.avro_schema import LIMITS

            given |= {"spark.driver.extraJavaOptions": LIMITS, "spark.executor.extraJavaOptions": LIMITS}
        return given

    def events(self, spark: Any, config: SketchConfig) -> Any:
        """The events as a streaming DataFrame."""
        from ecmsketch.spark.message_parsing import parse_messages
        from ecmsketch.spark.topic_identity import check_topic

        prepare(spark)
        brokers, client = str(self.options.kafka), self._client()
        check_topic(spark, brokers, self.topic, self.checkpoint, client, self.options.allow_loss)
        reader = spark.readStream.format("kafka").option("subscribe", self.topic)
        for name, value in {"isolation.level": "read_committed", **client, "bootstrap.servers": brokers}.items():
            reader = reader.option(f"kafka.{name}", value)
        reader = reader.option("startingOffsets", self._starting())
        reader = reader.option("failOnDataLoss", not self.options.allow_loss)
        messages = reader.option("maxOffsetsPerTrigger", self.options.trigger_rows).load()
        return parse_messages(
            messages, config, self.options.format, self.item, self.tick, self.site, self.weight, **self._of_fields()
        )

    def _of_fields(self) -> dict[str, Any]:
        """What the options say of the fields."""
        columns = self.options.columns
        return {
            "integers": self.options.integer or [],
            "columns": [] if columns is None else columns.split(","),
            "schema": None if self.options.schema is None else _read("--schema", self.options.schema),
            "schema_id": self.options.schema_id,
        }

    def _starting(self) -> str:
        """Where a new query starts, as Spark wants it."""
        given = self.options.start
        if given in ("earliest", "latest"):
            return given
        hint = f'earliest, latest or offsets such as {{"{self.topic}": {{"0": 17, "1": -2}}}}'
        try:
            offsets = json.loads(given)
            numbers = [*offsets[self.topic].values()]
            ok = list(offsets) == [self.topic] and all(type(number) is int and number >= -2 for number in numbers)
        except (ValueError, KeyError, TypeError, AttributeError):
            ok = False
        if not ok:
            raise typer.BadParameter(f"expected {hint}, got {given!r}", param_hint="--from")
        return given

    def _client(self) -> dict[str, str]:
        """Settings of the client from a file; lines that are empty or begin with # are left out."""
        if self.options.kafka_config is None:
            return {}
        lines = [line.strip() for line in _read("--kafka-config", self.options.kafka_config).splitlines()]
        pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
        for name, equals, _ in pairs:
            if not equals or not name.strip():
                raise InputError(f"--kafka-config: expected lines NAME=VALUE, got {name!r} without =")
        return {name.strip(): value.strip() for name, _, value in pairs}


def _read(option: str, path: str) -> str:
    """The text of a file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{option}: {path} cannot be read: {error}") from error
