"""Breaks one sign, factor, root or comparison at a time in copies of a room and shows that a test fails.

    python benchmarks/mutations.py                              # all modules of shapes/: some 600 changes
    python benchmarks/mutations.py spd grassmann                # some modules
    python benchmarks/mutations.py --room discrepancy --every 5 # every fifth change of another room

Prints the changes that no test noticed. Changes that have no consequence, such as another size of a block, are
listed below with the reason and left out. Needs `fork`: Linux or macOS.
"""

import argparse
import ast
import contextlib
import copy
import io
import multiprocessing
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "napari_shape_ensembles"
ROOMS = ("tensors", "discrepancy")
SWAPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
OPPOSITES = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
SECONDS = 300

# Changes without consequence, as (module, part of the changed line): why. They are not tried.
HARMLESS = {
    ("decomposition", "r11 > 0"): "a zero column is refused right after",
    ("decomposition", "_BLOCK ="): "the size of a block",
    ("decomposition", "r22 > 0"): "a zero column is refused right after",
    ("decomposition", "size > 0"): "a zero column is refused right after",
    ("decomposition", "r12 + slip"): "a correction of the size of rounding",
    ("distances", "_BLOCK ="): "the size of a block",
    ("expansion", "_DEGREES ="): "where the search for a degree starts",
    ("expansion", "_TAIL ="): "how much of the end must have died out",
    ("expansion", "_FINER ="): "a finer grid",
    ("grassmann", "_ROUNDS ="): "more rounds than needed",
    ("grassmann", "tolerance: float"): "a tolerance near rounding",
    ("grassmann", "w[:, :, 1] *="): "a factor of 1 or -1",
    ("quadrature", "_ROUNDS ="): "more rounds than needed",
    ("quadrature", "_TOLERANCE ="): "a tolerance near rounding",
    ("registration", "np.empty(0)"): "the shape of nothing, given where there are no curves",
    ("registration", "_TIED ="): "a tolerance far from either case",
    ("registration", "width = "): "how a table is cut in two",
    ("registration", "offset = np.clip"): "guards of Newton's method that a peak does not need",
    ("registration", "max(initial=0) < 1e-9"): "rounds more than needed",
    ("registration", "_SAME ="): "a tolerance far from either case",
    ("registration", "_TERMS ="): "more terms than needed",
    ("spd", "_ROUNDS ="): "more rounds than needed",
    ("spd", "np.where(size > 0"): "where the traceless part is zero its factor plays no part",
    ("spd", "far = "): "how fast a mean settles",
    ("spd", "bend = "): "how fast a mean settles",
    ("archetype", "_ROUNDS ="): "more rounds than needed",
    ("components", "_ROWS ="): "the size of a block",
    ("dependence", "_FEATURES, _BATCH ="): "how many features an approximation has, and the size of a block",
    ("family", "_MOST_WAVES"): "where a faster way is left for a slower one with the same result",
    ("family", "_ROWS ="): "the size of a block",
    ("kernel", "if not below"): "when a faster way is left for a slower one with the same result",
    ("kernel", "SUBSET ="): "more pairs for the median than needed",
    ("permutations", "_CHUNK ="): "the size of a block",
    ("permutations", "in chunk_sizes("): "the size of a block",
    ("verdict", "10**9"): "stands for infinitely many",
}


class Mutator(ast.NodeTransformer):
    """Walks a module in a fixed order and changes the place number `target`; counts the places."""

    def __init__(self, target=-1):
        self.target, self.places, self.found = target, 0, None

    def _here(self, node, what):
        self.places += 1
        if self.places - 1 == self.target:
            self.found = (node.lineno, what)
            return True
        return False

    def visit_AnnAssign(self, node):
        """Leave annotations alone."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arguments(self, node):
        """Leave arguments alone: which default is the right one no test can tell."""
        return node

    def visit_FunctionDef(self, node):
        """Leave the annotation of the result alone."""
        self.visit(node.args)
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_Raise(self, node):
        """Leave messages alone."""
        return node

    def visit_Subscript(self, node):
        """Leave indices alone: a wrong one hardly ever goes unnoticed."""
        node.value = self.visit(node.value)
        return node

    def visit_keyword(self, node):
        """Leave axes alone, for the same reason."""
        return node if node.arg in {"axis", "axis1", "axis2", "keepdims"} else self.generic_visit(node)

    def visit_BinOp(self, node):
        """Turn + into -, * into / and so on."""
        node = self.generic_visit(node)
        other = SWAPS.get(type(node.op))
        text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        if other and not text and self._here(node, f"{type(node.op).__name__} -> {other.__name__}"):
            node.op = other()
        return node

    def visit_AugAssign(self, node):
        """The same for += and its like."""
        node.value = self.visit(node.value)
        other = SWAPS.get(type(node.op))
        if other and self._here(node, f"{type(node.op).__name__}= -> {other.__name__}="):
            node.op = other()
        return node

    def visit_UnaryOp(self, node):
        """Drop a minus sign or a negation."""
        node.operand = self.visit(node.operand)
        if isinstance(node.op, ast.USub | ast.Invert | ast.Not) and self._here(node, f"{type(node.op).__name__} gone"):
            return node.operand
        return node

    def visit_Compare(self, node):
        """Turn a comparison round."""
        node = self.generic_visit(node)
        other = OPPOSITES.get(type(node.ops[0]))
        if other and self._here(node, f"{type(node.ops[0]).__name__} -> {other.__name__}"):
            node.ops[0] = other()
        return node

    def visit_Call(self, node):
        """Leave out a root, a conjugate or a transposition; leave numbers of axes and shapes alone."""
        named = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if named in {"swapaxes", "reshape", "transpose", "moveaxis"}:
            node.func = self.visit(node.func)
        else:
            node = self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute):
            return node
        if node.func.attr == "sqrt" and self._here(node, "sqrt gone"):
            return node.args[0]
        if node.func.attr in {"conj", "swapaxes"} and self._here(node, f"{node.func.attr} gone"):
            return (
                node.args[0]
                if isinstance(node.func.value, ast.Name) and node.func.value.id == "np"
                else node.func.value
            )
        return node

    def visit_Constant(self, node):
        """Put another number in place of a number."""
        number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        if number and self._here(node, f"{node.value} -> {node.value * 2 or 1}"):
            return ast.copy_location(ast.Constant(node.value * 2 or 1), node)
        return node


def source_of(room, module):
    """Path of a module."""
    return ROOT / "src" / PACKAGE / room / f"{module}.py"


def mutants(room, module):
    """Yield (line, change, source) for every change to a module."""
    source = source_of(room, module).read_text(encoding="utf-8")
    tree = ast.parse(source)
    counter = Mutator()
    counter.visit(copy.deepcopy(tree))
    for target in range(counter.places):
        mutator = Mutator(target)
        changed = ast.fix_missing_locations(mutator.visit(copy.deepcopy(tree)))
        yield *mutator.found, ast.unparse(changed)


def survives(job):
    """Whether all tests pass with a changed module; runs in a process of its own."""
    room, module, line, change, source = job
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src" / PACKAGE, Path(folder) / PACKAGE, ignore=shutil.ignore_patterns("viewer"))
        (Path(folder) / PACKAGE / room / f"{module}.py").write_text(source, encoding="utf-8")
        child = os.fork()
        if child == 0:
            os._exit(run_tests(room, module, folder))
        return module, line, change, os.waitpid(child, 0)[1] == 0


def run_tests(room, module, folder):
    """Run the module's own tests, then those of the other modules in the room; stop at the first failure."""
    import signal

    import pytest

    signal.alarm(SECONDS)  # a change may never end; the signal then ends this process, which counts as noticed
    sys.path.insert(0, folder)
    tests = ROOT / "tests" / room
    own = tests / f"test_{module}.py"
    rest = [path for path in sorted(tests.glob("test_*.py")) if path != own]
    options = ["-x", "-q", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        own_result = int(pytest.main([*options, str(own)])) if own.exists() else 0
        return own_result or int(pytest.main([*options, *map(str, rest)]))


def consequential(room, module, line):
    """Whether a change to this line of a module should be noticed."""
    text = source_of(room, module).read_text(encoding="utf-8").splitlines()[line - 1]
    return not any(where == module and part in text for where, part in HARMLESS)


def warm_up():
    """Load what every run needs, so that the forked processes need not."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for name in ("numpy", "scipy.fft", "scipy.linalg", "scipy.special", "hypothesis", "pytest", "skimage.draw"):
        __import__(name)


def main():
    """Change, test and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--room", choices=ROOMS, default=ROOMS[0])
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    room = options.room
    folder = source_of(room, "").parent
    names = options.modules or sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    jobs = [(room, module, *mutant) for module in names for mutant in mutants(room, module)]
    jobs = [job for job in jobs if consequential(*job[:3])][:: options.every]
    warm_up()
    tried, unnoticed = {}, []
    with multiprocessing.get_context("fork").Pool(len(os.sched_getaffinity(0)), maxtasksperchild=1) as pool:
        for module, line, change, alive in pool.imap_unordered(survives, jobs):
            tried[module] = tried.get(module, 0) + 1
            if alive:
                unnoticed.append((module, line, change))
                print(f"{module}.py:{line}: {change}: NOT NOTICED", flush=True)
    for module, count in sorted(tried.items()):
        print(f"{module:15s} {count:4d} changes, {sum(module == name for name, *_ in unnoticed):3d} not noticed")
    print(f"{len(jobs)} changes: {len(jobs) - len(unnoticed)} noticed, {len(unnoticed)} not noticed")


if __name__ == "__main__":
    main()
