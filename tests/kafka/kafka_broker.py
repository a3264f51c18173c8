"""A broker of Apache Kafka in one process, in a folder of its own, that can be killed and started again."""

from __future__ import annotations

import base64
import socket
import subprocess
import time
import uuid
from pathlib import Path

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

LARGEST = 8 * 2**20
"""Bytes of the largest message that the broker takes."""
PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
message.max.bytes={largest}
"""


class Broker:
    """A broker on free ports of the loopback device, with topics to make, fill and destroy."""

    def __init__(self, folder: Path, jars: list[Path]) -> None:
        port, controller = _free_ports(2)
        self.address = f"127.0.0.1:{port}"
        self.log = folder / "broker.log"
        self._settings = folder / "server.properties"
        self._java = ["java", "-Xmx1g", "-cp", f"{jars[0].parent}/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        self._process: subprocess.Popen[bytes] | None = None
        self._settings.write_text(
            PROPERTIES.format(port=port, controller=controller, data=folder / "data", largest=LARGEST)
        )
        cluster = "C" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
        format = [*self._java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._settings)]
        subprocess.run(format, check=True, capture_output=True, timeout=120)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self.log.open("ab") as log:
            command = [*self._java, "kafka.Kafka", str(self._settings)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + 120
        self.admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        while True:
            assert self._process.poll() is None, self.log.read_text()[-3000:]
            try:
                if self.admin.list_topics(timeout=1).brokers:
                    return
            except KafkaException:
                assert time.monotonic() < until, self.log.read_text()[-3000:]

    def kill(self) -> None:
        """Kill it, with no time to tidy up. Its data stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def create(self, topic: str, partitions: int = 1) -> None:
        """Make a topic. One of the same name that is being deleted is waited for."""
        until = time.monotonic() + 60
        while True:
            try:
                settings = {"max.message.bytes": str(LARGEST)}
                self.admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(30)
                break
            except KafkaException:
                assert time.monotonic() < until
                time.sleep(0.2)

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self.admin.delete_topics([topic])[topic].result(30)

    def truncate(self, topic: str, before: dict[int, int]) -> None:
        """Delete the messages before an offset of each partition."""
        gone = self.admin.delete_records([TopicPartition(topic, number, at) for number, at in before.items()])
        for future in gone.values():
            future.result(30)

    def send(self, topic: str, messages: list[tuple[str | None, bytes | None]]) -> None:
        """Send messages, each with its key; what has one key goes to one partition, in order."""
        producer = Producer(
            {
                "bootstrap.servers": self.address,
                "message.max.bytes": LARGEST,
                "linger.ms": 5,
                "enable.idempotence": True,
            }
        )
        failed: list[object] = []
        for key, value in messages:
            while True:
                try:
                    producer.produce(topic, value, key, on_delivery=lambda error, _: error and failed.append(error))
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0
        assert failed == []

    def ends(self, topic: str) -> dict[int, int]:
        """The offset behind the last message of each partition."""
        numbers = self.admin.list_topics(topic, timeout=30).topics[topic].partitions
        asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in numbers}
        return {place.partition: done.result(30).offset for place, done in self.admin.list_offsets(asked).items()}


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
