"""How Sphinx builds the site; run by `make docs`."""

import importlib.metadata
import tomllib
from functools import partial
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from numpydoc.xref import DEFAULT_LINKS

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

# Tutorials and examples are run when the site is built; an error in one is an error of the build.
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = True
# Plain words of Python would be links to its documentation, which is elsewhere.
numpydoc_xref_aliases = {word: word for word, link in DEFAULT_LINKS.items() if link.startswith(":")}
default_role = "py:obj"  # names in single backticks are links wherever the reference has them
nitpicky = False


def math(self, node, *, block):
    """Formulas become MathML while the site is built: nothing is loaded from elsewhere, and no script runs."""
    self.body.append(tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode


def themes(app, document):
    """Pictures `x-light` and `x-dark` are shown by the reader's theme; where a page names one, the other is put in."""
    named = {image["uri"] for image in document.findall(nodes.image)}
    for image in list(document.findall(nodes.image)):
        for one, other in (("light", "dark"), ("dark", "light")):
            if f"-{one}" in image["uri"]:
                twin = image["uri"].replace(f"-{one}", f"-{other}")
                image["classes"].append(f"only-{one}")
                if twin not in named and (Path(app.srcdir) / Path(app.env.docname).parent / twin).exists():
                    added = image.deepcopy()
                    added["uri"], added["classes"] = twin, [f"only-{other}"]
                    image.parent.insert(image.parent.index(image) + 1, added)
                break


def setup(app):
    """Register what is defined above."""
    app.add_html_math_renderer("mathml", (partial(math, block=False), None), (partial(math, block=True), None))
    app.connect("doctree-read", themes)
