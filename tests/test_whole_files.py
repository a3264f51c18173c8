from __future__ import annotations

import pytest

from ecmsketch.whole_files import whole_file


def _write_half(path):
    with whole_file(path) as part:
        part.write_bytes(b"tw")
        raise KeyboardInterrupt


def test_a_file_appears_as_a_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.bin"
    with whole_file(path) as part:
        part.write_bytes(b"one")
        assert not path.exists()
    with pytest.raises(KeyboardInterrupt):
        _write_half(path)
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]
