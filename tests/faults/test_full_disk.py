"""A disk that is full in the middle of a file (RLIMIT_FSIZE): the old file stays, and nothing is left beside it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = r"""
import errno, resource, signal, sys
from pathlib import Path
import numpy as np
import ecmsketch as ecm
from ecmsketch.whole_files import whole_file

path = Path(sys.argv[1])
sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000))
sketch.update_many(np.arange(500), np.arange(500))
old = sketch.serialize()
path.write_bytes(old)
sketch.update_many(np.arange(20_000), np.arange(20_000) // 20 + 500)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
data = sketch.serialize()
for limit in (0, 1, 4096, len(data) // 2, len(data) - 1, len(data), len(data) + 1):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        with whole_file(path) as part:
            part.write_bytes(data)
    except OSError as error:
        assert error.errno == errno.EFBIG, error
        assert limit < len(data)
        assert path.read_bytes() == old
    else:
        assert limit >= len(data)
        assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]
print("done")
"""


def test_a_full_disk_leaves_the_old_file(tmp_path):
    program = [sys.executable, "-c", PROGRAM, str(tmp_path / "sketch.ecms")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "done"
