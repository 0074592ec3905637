"""How Sphinx builds the site; run by `make docs`."""

import importlib.metadata

project = "napari-shape-ensembles"
author = "the napari-shape-ensembles developers"
project_copyright = f"2026, {author}"
release = importlib.metadata.version(project)

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinxcontrib.mermaid"]
exclude_patterns = ["figures", "_build"]

html_theme = "furo"
html_title = project
html_show_sourcelink = False
copybutton_exclude = ".linenos, .gp"

nb_execution_mode = "off"  # they are run by tools/make_notebooks.py
myst_enable_extensions = ["colon_fence"]
myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 3

autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
nitpicky = False
