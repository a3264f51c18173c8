"""Says what to install if a package that the server needs is missing."""

from importlib.util import find_spec

for needed in ("deltalake", "fastapi", "nicegui", "prometheus_client"):  # not imported here: NiceGUI takes a second
    if find_spec(needed) is None:
        raise ModuleNotFoundError(f"ecmsketch.serve needs {needed}; pip install 'ecmsketch[serve]'", name=needed)
