import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if os.environ.get("ECMSKETCH_UNCOMPILED"):  # before anything of ecmsketch is imported
    import uncompiled

    uncompiled.install()

import ecmsketch as ecm

EXAMPLES = 4 if "ECMSKETCH_UNCOMPILED" in os.environ else 60
settings.register_profile(
    "ecmsketch", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ecmsketch")


@pytest.fixture
def config():
    return ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000)


@pytest.fixture(scope="session")
def shared_data():
    """Real data beside the project, where it is; never part of it."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data folder is not on this machine")
    return folder
