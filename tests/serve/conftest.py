import pytest
from served import client, read, write


@pytest.fixture(scope="session")
def known_store(tmp_path_factory):
    """A store of three sites, whose exact counts `served.exact` tells."""
    path = tmp_path_factory.mktemp("known") / "store"
    write(path)
    return path


@pytest.fixture(scope="session")
def api(known_store):
    with client(read(known_store)) as asking:
        yield asking
