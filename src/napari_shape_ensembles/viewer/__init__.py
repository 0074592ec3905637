"""The napari side: docks, layers and sample data. The only subpackage that knows of a screen."""

from importlib.metadata import requires, version

from packaging.requirements import Requirement


def _check_napari() -> None:
    """Refuse a napari older than the extra `napari` asks for; installing beside one does not."""
    for requirement in map(Requirement, requires("napari-shape-ensembles") or ()):
        if requirement.name == "napari" and not requirement.specifier.contains(version("napari"), prereleases=True):
            raise ImportError(
                f"napari-shape-ensembles needs napari {requirement.specifier}, and this is {version('napari')}: "
                'pip install "napari-shape-ensembles[napari]"'
            )


_check_napari()
