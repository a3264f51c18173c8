"""Which Python the workers run: the driver's on this machine, and one line that says what to set where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.errors import PySparkException, PySparkRuntimeError

import ecmsketch as ecm
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.spark import spark_errors
from ecmsketch.spark.workers import use_driver_python

SCRIPT = """
import os
from pyspark.sql import SparkSession
import ecmsketch as ecm
from ecmsketch import spark as ecm_spark

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000)
events = spark.range(300).selectExpr("id % 3 as item", "id as tick")
sketches = ecm_spark.build_sketches(events, config, item="item", tick="tick")
print("counted", ecm_spark.merge_sketches(sketches).total().value)

spark.sparkContext.pythonExec = os.environ["PYSPARK_PYTHON"] = "python3"  # as on a cluster, where it must be set
try:
    with ecm_spark.spark_errors():
        ecm_spark.build_sketches(events, config, item="item", tick="tick").collect()
except ecm.errors.ConfigError as error:
    print("said", error)
"""


def test_a_script_without_any_setting(tmp_path):
    python = Path(sys.base_prefix) / "bin" / "python3"
    other = subprocess.run(
        [python, "-c", "import numpy, ecmsketch"], capture_output=True, env={"PATH": "/usr/bin:/bin"}
    )
    if other.returncode == 0:
        pytest.skip("the Python beside this one has ecmsketch too")
    (tmp_path / "python3").symlink_to(python)
    (tmp_path / "script.py").write_text(SCRIPT)
    kept = {name: os.environ[name] for name in ("JAVA_HOME", "HOME") if name in os.environ}
    source = str(Path(ecm.__file__).parents[1])
    environment = {
        **kept,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": source,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, env=environment, timeout=180
    )
    assert done.returncode == 0, done.stderr[-3000:]
    counted, said = done.stdout.splitlines()
    assert counted == "counted 300.0"
    assert said.startswith("said PYSPARK_PYTHON: the workers' Python cannot be used: it has no ")
    assert sys.executable in said


def session(master, chosen="python3", **settings):
    conf = SimpleNamespace(get=settings.get)
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, pythonExec=chosen, getConf=lambda: conf))


@pytest.mark.parametrize(
    ("master", "chosen", "settings", "expected"),
    [
        ("local", "python3", {}, sys.executable),
        ("local[*]", "python3", {}, sys.executable),
        ("local-cluster[2,1,1024]", "python3", {}, sys.executable),
        ("local[2]", "python3", {"spark.pyspark.python": "/opt/python"}, "/opt/python"),
        ("local[2]", "/opt/mine", {}, "/opt/mine"),
        ("yarn", "python3", {}, "python3"),
        ("spark://host:7077", "python3", {}, "python3"),
    ],
)
def test_what_the_user_chose_stays(master, chosen, settings, expected, monkeypatch):
    monkeypatch.delenv("PYSPARK_PYTHON")
    spark = session(master, chosen, **settings)
    use_driver_python(spark)
    assert spark.sparkContext.pythonExec == expected
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    spark = session(master, chosen, **settings)
    use_driver_python(spark)
    assert spark.sparkContext.pythonExec == chosen


def test_spark_connect_has_no_context():
    class Connect:
        @property
        def sparkContext(self):  # noqa: N802
            raise PySparkRuntimeError("no JVM")

    use_driver_python(Connect())
    use_driver_python(object())


@pytest.mark.parametrize(
    "text",
    [
        "many\nlines\nModuleNotFoundError: No module named 'ecmsketch'\n at org.apache",
        "Caused by ModuleNotFoundError: No module named 'numpy'",
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11.\n more",
        "[PACKAGE_NOT_INSTALLED] PyArrow >= 15.0.0 must be installed; however, it was not found.",
    ],
)
def test_one_line_says_what_to_set(text):
    with pytest.raises(ConfigError) as raised, spark_errors():
        raise PySparkException(text)
    assert "\n" not in str(raised.value)
    assert "set PYSPARK_PYTHON or spark.pyspark.python" in str(raised.value)


def test_other_errors_stay_as_they_are():
    with pytest.raises(PySparkException, match="No module named 'mine'"), spark_errors():
        raise PySparkException("ModuleNotFoundError: No module named 'mine'")
    with pytest.raises(InputError, match=r"^tick: wrong$"), spark_errors():
        raise PySparkException("ecmsketch.errors.InputError: tick: wrong\n at org.apache")
