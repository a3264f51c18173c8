"""Live events for commands: a recorded log played again, a folder where files appear, or generated events."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ecmsketch.cli.options import SiteColumn, WeightColumn, a_number

if TYPE_CHECKING:
    from ecmsketch.config import SketchConfig

GENERATED = ("object", "server", "timestamp")
"""The columns of generated events."""

Lateness = Annotated[str, typer.Option(help="How late an event may come and still be counted at its own time.")]


@dataclass(frozen=True)
class LiveOptions:
    """Options of commands that read a stream: where events come from, which column is what, and how often to read."""

    path: Annotated[str | None, typer.Argument(help="Folder of a recorded log, or, with --watch, of new files.")] = None
    item: Annotated[
        list[str] | None, typer.Option(help="Column to count. Give it several times to count rows of columns.")
    ] = None
    tick: Annotated[str | None, typer.Option(help="Column of the time.")] = None
    site: SiteColumn = None
    weight: WeightColumn = None
    speed: Annotated[
        float,
        typer.Option(help="Seconds of a recorded log to play per second.", min=0.001, max=1e9, callback=a_number),
    ] = 1.0
    rate: Annotated[
        int | None, typer.Option(help="Generate this many events per second instead of reading.", min=1, max=10**9)
    ] = None
    new_files: Annotated[
        bool, typer.Option("--watch", help="Read new Parquet files as they appear instead of playing a log.")
    ] = False
    every: Annotated[float, typer.Option(help="Seconds between triggers.", min=0, max=86_400, callback=a_number)] = 2.0
    once: Annotated[bool, typer.Option("--once", help="Read everything there is, then stop.")] = False

    def source(self) -> LiveSource:
        """Where events come from, if the options fit together."""
        item, tick, site = self.item, self.tick, self.site
        if self.rate is not None:
            if self.path is not None:
                raise typer.BadParameter("generated events have no folder: give a folder or --rate, not both")
            if self.once:
                raise typer.BadParameter("generated events have no end: leave --once out")
            item, tick, site = item or ["object"], tick or "timestamp", site or "server"
        elif self.path is None or not item or tick is None:
            raise typer.BadParameter("give a folder with --item and --tick, or --rate for generated events")
        columns = item if len(item) > 1 else item[0]
        return LiveSource(self.path, columns, tick, site, self.weight, self.speed, self.rate, self.new_files)

    def start(self, writer: Any) -> Any:
        """Start a streaming query with the trigger that the options ask for."""
        if self.once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self.every} seconds").start()


class LiveSource(NamedTuple):
    """Where events come from, and which column is what."""

    path: str | None
    item: str | list[str]
    tick: str
    site: str | None
    weight: str | None
    speed: float
    rate: int | None
    new_files: bool

    @property
    def name(self) -> str:
        """The name of the stream: what it reads, so that two streams do not replace each other in a store."""
        if self.path is None:
            return "generated"
        return self.path if "://" in self.path else str(Path(self.path).resolve())

    @property
    def items(self) -> list[str]:
        """The columns that an item is made of."""
        return [self.item] if isinstance(self.item, str) else self.item

    def check(self, config: SketchConfig, stream: str | None = None) -> None:
        """Raise an error, before Spark starts, if the folder, the columns or their types are wrong."""
        if config.unit is None:
            raise typer.BadParameter("the ticks of a stream are times: give their unit", param_hint="--unit")
        other = [] if stream is None else [stream]
        if self.path is None:
            self._check_generated(config, other)
        elif not self.new_files:
            self._check_files(self.path, config, formats=("parquet", "worldcup98"), other=other)
        elif "://" not in self.path:  # other paths may be ones that only Spark can open
            self._check_files(self.path, config, format="parquet", other=other, partitions=True)

    def settings(self) -> dict[str, str]:
        """Settings that the Spark session needs for this source: none."""
        return {}

    def events(self, spark: Any, config: SketchConfig) -> Any:
        """The events as a streaming DataFrame whose ticks are in the config's unit."""
        from ecmsketch import spark as ecm_spark

        prepare(spark)
        ecm_spark.register_sources(spark)
        if self.rate is not None:
            return ecm_spark.generated_stream(spark, self.rate)
        if self.new_files:
            return spark.readStream.schema(spark.read.parquet(self.path).schema).parquet(self.path)
        reader = spark.readStream.format("replay").option("tick", self.tick).option("speed", str(self.speed))
        return reader.option("unit", config.unit).load(self.path)

    def _check_generated(self, config: SketchConfig, other: list[str]) -> None:
        from ecmsketch.spark.column_roles import check_columns

        if config.unit != "s":
            raise typer.BadParameter(f"generated events have ticks in s, got {config.unit}", param_hint="--unit")
        names = [*self.items, self.tick, self.site, self.weight, *other]
        check_columns(GENERATED, {str(name): name for name in names})

    def _check_files(self, path: str, config: SketchConfig, **more: Any) -> None:
        from ecmsketch.spark.file_checks import check_files

        check_files(path, config, self.item, self.tick, self.site, self.weight, **more)


def prepare(spark: Any) -> None:
    """Let a session keep the state of a stream well."""
    from ecmsketch.spark.streaming import use_rocksdb

    use_rocksdb(spark)
    # Every shuffle partition keeps a state store; Spark's default of 200 is slow.
    spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
