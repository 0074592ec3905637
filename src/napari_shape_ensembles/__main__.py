"""Run the command line as ``python -m napari_shape_ensembles``."""

from .cli import main

if __name__ == "__main__":
    main()
