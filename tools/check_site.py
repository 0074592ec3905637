"""Check the built site: it loads no external resources, and its search answers common questions.

    python tools/check_site.py docs/_build/html

Every search of SEARCHES has pages of which one must be among the first three hits.
They are scored by the site's own `searchtools.js`, run with Node.js.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HITS = 3
#: What a reader may search for -> pages that answer it.
SEARCHES = {
    "1∧0": "explanation/question, reference/glossary",
    "ASTM": "reference/features",
    "batch effect": "reference/glossary, how-to/experiment",
    "batch processing folder": "how-to/open-files",
    "before and after": "how-to/image-parts",
    "Cellpose": "how-to/from-cellpose",
    "CellProfiler": "how-to/from-cellprofiler",
    "circularity": "reference/features, how-to/descriptors, reference/glossary",
    "cite": "how-to/report",
    "classification": "how-to/classify",
    "command line": "how-to/command-line, reference/cli",
    "compactness": "reference/features",
    "conda": "install",
    "confidence interval": "reference/glossary, explanation/tests",
    "effect size": "reference/glossary, explanation/tests, how-to/experiment",
    "elliptic Fourier": "evidence/method-comparison, reference/glossary, how-to/from-momocs",
    "false positive rate": "reference/glossary, evidence/method-comparison, evidence/power",
    "Feret": "reference/features",
    "Feret diameter": "reference/features",
    "geomorph": "how-to/from-momocs",
    "how many replicates": "how-to/sample-size, how-to/experiment, how-to/what-data",
    "ImageJ": "how-to/from-imagej",
    "install": "install",
    "limitations": "explanation/limits, how-to/explain",
    "mixed model": "how-to/experiment, reference/glossary",
    "Momocs": "how-to/from-momocs",
    "morphometrics": "reference/glossary, evidence/method-comparison",
    "MTEX": "how-to/from-mtex",
    "multiple comparisons": "how-to/multiple-comparisons, reference/glossary",
    "normality assumption": "how-to/troubleshooting",
    "PCA": "reference/glossary",
    "pixel size": "how-to/pixel-size",
    "principal component analysis": "reference/glossary, explanation/method",
    "pseudoreplication": "how-to/experiment, reference/glossary, tutorials/experiment",
    "QuPath": "how-to/open-files, reference/files",
    "roundness": "reference/features",
    "sample size": "how-to/sample-size, reference/glossary",
    "shape descriptors": "how-to/descriptors",
    "statistical power": "evidence/power, how-to/sample-size, reference/glossary",
    "time lapse": "how-to/image-parts",
    "touching objects": "how-to/segment, how-to/troubleshooting",
    "troubleshooting": "how-to/troubleshooting",
    "type I error": "reference/glossary, evidence/power",
}
#: HTML that makes a browser load something: scripts, styles, images, fonts. Links for readers do not count.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc\s*=\s*["'](?:https?:)?//[^"']+"""
    r"""|<link\b(?=[^>]*\brel\s*=\s*["'](?:stylesheet|preload|icon|modulepreload)["'])[^>]*\bhref\s*=\s*["'](?:https?:)?//[^"']+"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//\S+|url\(\s*["']?(?:https?:)?//[^)]+"""
)
# Runs the site's search without a browser: replaces the parts of the DOM that its scripts use.
SCRIPT = """
const fs = require("fs"), vm = require("vm"), [folder, ...queries] = process.argv.slice(1);
const nothing = () => undefined;
const page = {
  documentElement: {dataset: {content_root: "./"}}, readyState: "loading", addEventListener: nothing,
  getElementById: () => null, querySelector: () => null, querySelectorAll: () => [], createElement: () => ({}),
};
const context = {
  document: page, console, URLSearchParams, location: {}, setTimeout: nothing, DOCUMENTATION_OPTIONS: {},
  localStorage: {setItem: nothing, removeItem: nothing},
};
context.window = context;
vm.createContext(context);
const names = [
  "doctools.js", "sphinx_highlight.js", "language_data.js", "searchtools.js", "../searchindex.js",
];
for (const name of names) {
  const path = folder + "/_static/" + name;
  if (fs.existsSync(path)) vm.runInContext(fs.readFileSync(path, "utf8"), context, {filename: name});
}
context.queries = queries;
const found = vm.runInContext(`queries.map((query) => {
  const parsed = Search._parseQuery(query);
  return Search._performSearch(...parsed).reverse().map((hit) => hit[0]);
})`, context);
console.log(JSON.stringify(found));
"""


def loaded_from_elsewhere(site):
    """External resources that the pages would load."""
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".css"):
            for match in LOADED.finditer(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(site)}: {match.group()[:150]}"


def hits(site, queries):
    """Pages found by the site's own search, best first, without duplicates."""
    node = shutil.which("node") or sys.exit("Node.js is needed to run the site's search, and was not found.")
    command = [node, "-e", SCRIPT, str(site), *queries]
    lists = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout)
    return [list(dict.fromkeys(pages)) for pages in lists]


def main(site):
    """Print the errors; returns their number."""
    faults = [f"loaded from elsewhere: {fault}" for fault in loaded_from_elsewhere(site)]
    for (query, pages), found in zip(SEARCHES.items(), hits(site, SEARCHES), strict=True):
        if not set(pages.split(", ")) & set(found[:HITS]):
            faults.append(f"search {query!r}: first are {found[:HITS]}, and none of {pages}")
    print("\n".join(faults) or f"Nothing is loaded from elsewhere; {len(SEARCHES)} searches lead where they should.")
    return len(faults)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) > 0)
