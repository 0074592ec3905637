"""The napari plugin: docks, layers and sample data. The only subpackage that depends on napari and Qt."""

from importlib.metadata import requires, version

from packaging.requirements import Requirement


def _check_napari() -> None:
    """Raise for a napari older than required by the extra `napari`, which pip does not check without the extra."""
    for requirement in map(Requirement, requires("napari-shape-ensembles") or ()):
        if requirement.name == "napari" and not requirement.specifier.contains(version("napari"), prereleases=True):
            raise ImportError(
                f"napari-shape-ensembles needs napari {requirement.specifier}, and this is {version('napari')}: "
                'pip install "napari-shape-ensembles[napari]"'
            )


_check_napari()
