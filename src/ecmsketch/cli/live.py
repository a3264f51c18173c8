"""Live events for commands: a recorded log played again, a folder where files appear, or generated ones."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import typer

Folder = Annotated[str | None, typer.Argument(help="A folder: recorded, or where new files appear.")]
Items = Annotated[list[str] | None, typer.Option(help="Column to count; several times: rows of them.")]
Tick = Annotated[str | None, typer.Option(help="Column of the time.")]
Speed = Annotated[float, typer.Option(help="Seconds of a recorded log played in one second.", min=0.001)]
Rate = Annotated[int | None, typer.Option(help="No folder: so many generated events a second, instead.", min=1)]
NewFiles = Annotated[bool, typer.Option("--watch", help="Take new Parquet files as they appear, instead.")]
Every = Annotated[float, typer.Option(help="Seconds between triggers.", min=0)]
Lateness = Annotated[str, typer.Option(help="How late events still count in their place.")]


class Live(NamedTuple):
    """Where events come from, and which column is what."""

    path: str | None
    item: str | list[str]
    tick: str
    site: str | None
    speed: float
    rate: int | None
    new_files: bool

    def events(self, spark: Any) -> Any:
        """A streaming DataFrame."""
        from ecmsketch import spark as ecm_spark

        ecm_spark.use_rocksdb(spark)
        # 200 state stores are slow
        spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
        ecm_spark.register_sources(spark)
        if self.rate is not None:
            return ecm_spark.generated_stream(spark, self.rate)
        if self.new_files:
            return spark.readStream.schema(spark.read.parquet(self.path).schema).parquet(self.path)
        reader = spark.readStream.format("replay").option("tick", self.tick).option("speed", str(self.speed))
        return reader.load(self.path)


def live(
    path: str | None,
    item: list[str] | None,
    tick: str | None,
    site: str | None,
    speed: float,
    rate: int | None,
    new_files: bool,
) -> Live:
    """The options, if they fit together."""
    if rate is not None:
        if path is not None:
            raise typer.BadParameter("generated events have no folder: give one or --rate")
        item, tick, site = item or ["object"], tick or "timestamp", site or "server"
    elif path is None or not item or tick is None:
        raise typer.BadParameter("give a folder with --item and --tick, or --rate for generated events")
    return Live(path, item if len(item) > 1 else item[0], tick, site, speed, rate, new_files)
