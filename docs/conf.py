"""Sphinx configuration of the site; used by `make docs`."""

import importlib.metadata
import tomllib
from functools import partial
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from numpydoc.xref import DEFAULT_LINKS

import napari_shape_ensembles
from napari_shape_ensembles import io, samples

PYPROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
REPOSITORY = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]

project = "napari-shape-ensembles"
author = "the napari-shape-ensembles developers"
project_copyright = f"2026, {author}"
release = importlib.metadata.version(project)

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["figures", "results", "_build"]

html_theme = "furo"
html_title = project
html_show_sourcelink = False
html_theme_options = {"source_repository": f"{REPOSITORY}/", "source_branch": "main", "source_directory": "docs/"}
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_math_renderer = "mathml"
copybutton_exclude = ".linenos, .gp"

# Tutorials and examples are run when the site is built; errors in them fail the build.
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autodoc_preserve_defaults = True
# Parameter types are links if they are names of this package, and plain text otherwise.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {word: word for word in DEFAULT_LINKS} | {
    name: f"{package.__name__}.{name}"
    for package in (samples, io, napari_shape_ensembles)
    for name in package.__all__
    if name[0].isupper()
}
default_role = "py:obj"  # names in single backticks are links if the reference has them
nitpicky = False


def math(self, node, *, block):
    """Render formulas as MathML at build time: nothing is loaded from elsewhere, and no script runs."""
    self.body.append(tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (partial(math, block=False), None), (partial(math, block=True), None))
