"""Whether the topic behind a checkpoint is still the same one.

Offsets cannot tell a topic that was deleted and created again with more messages from the old one grown: a query would
go on in the middle of the new one. So the id that Kafka gave the topic is kept in the checkpoint.
"""

from __future__ import annotations

import json
from typing import Any

from ecmsketch.errors import InputError

FILE = "ecmsketch-topic.json"
_NO_ID = "A" * 22
"""The id of topics that were made by brokers without ids."""
_SECONDS = 20


def check_topic(spark: Any, brokers: str, topic: str, checkpoint: str, settings: dict[str, str], go_on: bool) -> None:
    """Raise an error if the topic does not exist, or is not the one that the checkpoint was begun with.

    settings  of the client, without "kafka."
    go_on     whether another topic of the same name is read on from the same offsets
    """
    found = _topic_id(spark._jvm, brokers, topic, settings)
    path = spark._jvm.org.apache.hadoop.fs.Path(checkpoint, FILE)
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())
    kept = _read(spark._jvm, files, path)
    if kept is not None and kept["topic"] != topic:
        raise InputError(
            f"checkpoint: {checkpoint} belongs to topic {kept['topic']!r}, not to {topic!r}; give another --checkpoint"
        )
    if kept is not None and _NO_ID not in (kept["id"], found) and kept["id"] != found and not go_on:
        raise InputError(
            f"topic: {topic!r} was deleted and created again since checkpoint {checkpoint} was begun, so its offsets "
            "mean nothing now. To count the new topic beside what is stored, start with a new --checkpoint and a new "
            "--name; to replace what is stored, with a new --checkpoint alone"
        )
    if kept is None or kept["id"] != found:
        out = files.create(path, True)
        out.write(bytearray(json.dumps({"topic": topic, "id": found}).encode()))
        out.close()


def _topic_id(jvm: Any, brokers: str, topic: str, settings: dict[str, str]) -> str:
    """The id of a topic, or an error in plain words."""
    from py4j.protocol import Py4JJavaError

    given = jvm.java.util.Properties()
    for name, value in {**settings, "bootstrap.servers": brokers}.items():
        given.setProperty(name, value)
    given.setProperty("default.api.timeout.ms", str(1000 * _SECONDS))
    given.setProperty("request.timeout.ms", str(1000 * _SECONDS))
    admin = None
    try:
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(given)
        names = jvm.java.util.Collections.singletonList(topic)
        return str(admin.describeTopics(names).allTopicNames().get().get(topic).topicId().toString())
    except Py4JJavaError as error:
        said = str(error.java_exception.toString()) + str(error.java_exception.getCause() or "")
        raise InputError(_plain(said, brokers, topic)) from error
    finally:
        if admin is not None:
            admin.close(jvm.java.time.Duration.ofSeconds(1))


def _plain(said: str, brokers: str, topic: str) -> str:
    """What the client said, in our words."""
    if "UnknownTopicOrPartition" in said:
        return f"topic: the brokers at {brokers} have no topic {topic!r}; create it, or check its name"
    if "TimeoutException" in said:
        return f"kafka: no broker answered at {brokers} within {_SECONDS} seconds; check that it runs"
    return f"kafka: {brokers} cannot be used: {said.partition(chr(10))[0]}"


def _read(jvm: Any, files: Any, path: Any) -> dict[str, str] | None:
    """What the checkpoint says of its topic; None if nothing, or if it was cut short by a crash."""
    if not files.exists(path):
        return None
    stream = files.open(path)
    try:
        kept = json.loads(str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")))
    except ValueError:
        return None
    finally:
        stream.close()
    return {name: str(kept[name]) for name in ("topic", "id")} if isinstance(kept, dict) and len(kept) == 2 else None
