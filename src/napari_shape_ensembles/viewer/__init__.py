"""The napari side: docks, layers and sample data. The only room that knows of a screen."""
