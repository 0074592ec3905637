"""*Everything for a paper*: of several groups too, with a script that repeats it, and QUAREP-LiMi's checklist."""

import pytest
from qtpy.QtWidgets import QFileDialog

from docks import execute, press, set_choices, wait_until_idle
from image_makers import labels_of, spots
from napari_shape_ensembles import Experiment, Outlines
from napari_shape_ensembles.explanation.checklist import BLANK, checklist
from napari_shape_ensembles.viewer.docks.answer import AnswerPage

GROUPS = {"wt": 2, "ko": 2, "drug": 2}

pytestmark = pytest.mark.usefixtures("blank_files")


@pytest.fixture
def groups(model, qtbot, tmp_path, monkeypatch):
    """The page after a comparison of three groups: of images, of which one is labels; exports go to `paper`."""
    qtbot.addWidget(page := AnswerPage(model))
    design, seed = page.session.design, 0
    for group, count in GROUPS.items():
        for number in range(count):
            seed += 1
            name = f"{group} field {number}"
            if group == "drug":
                layer = model.add_labels(labels_of(seed, size=14.0), name=name, scale=(0.5, 0.5), units=("um", "um"))
            else:
                layer = model.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))
            design.write([(layer, "group", group), (layer, "dose", str(seed))])
    set_choices(page.session.choices, landmarks=40, rank=5, permutations=99)
    page.session.choices.proposed[page.session.choices.recipe] = 3
    press(page.run_button, qtbot)
    wait_until_idle(page.comparison, qtbot)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path / "paper"))
    return page


def export(page, qtbot, folder):
    press(page.paper, qtbot)
    wait_until_idle(page.comparison, qtbot)
    assert page.results.message.text().startswith("Saved"), page.results.message.text()
    return (folder / "methods.txt").read_text()


def test_everything_for_a_paper_of_several_groups_has_methods_script_and_objects(
    groups, model, qtbot, tmp_path, monkeypatch
):
    folder, task, whole = tmp_path / "paper", groups.comparison, groups.comparison.answer.experiment
    said = export(groups, qtbot, folder)
    assert not task.unsaved
    for group in GROUPS:
        count = sum(len(image) for image in whole.groups.images if group in image.name)
        assert f"Group {group} had {count} outlines in 2 images" in said
    assert "number 3 of those proposed" in said
    assert "Given labels were not segmented" in said
    assert "adjusted for the family-wise error rate" in said
    assert all(sentence in said for sentence in (*whole.overall(), *whole.sentences(), *whole.warnings))
    assert len((folder / "objects.csv").read_text().splitlines()) == 1 + sum(map(len, whole.groups.images))
    monkeypatch.chdir(tmp_path)  # wherever napari was started
    code = (folder / "compare.py").read_text()
    scope, printed = execute(code, __file__=str(folder / "compare.py"))
    for column in ("undulation_p", "scale_p", "scale_effect"):
        assert scope["result"].table[column].tolist() == whole.table[column].tolist()
    assert printed.startswith(whole.summary())

    # Reopened without its images, it has the same methods and a script that loads it.
    model.layers.clear()
    groups.session.choices.proposed.clear()
    task.open(folder / "result.experiment.npz")
    wait_until_idle(task, qtbot)
    assert export(groups, qtbot, folder) == said
    scope, _ = execute((folder / "compare.py").read_text(), __file__=str(folder / "compare.py"))
    assert isinstance(scope["result"], Experiment)
    assert scope["result"].table["scale_p"].tolist() == whole.table["scale_p"].tolist()


def test_the_checklist_marks_what_only_authors_know():
    said = checklist(Outlines(), {"python": "3.12"}, ["image"], 0, ["compare.py"])
    levels = [line for line in said.splitlines() if line in ("Minimal", "Recommended", "Ideal")]
    assert levels == ["Minimal", "Recommended", "Ideal"]
    points = [line for line in said.splitlines() if line.startswith("[")]
    assert "[x] Exact version: python 3.12." in points
    assert "[x] Manual ROIs: none." in points
    assert len(points) == 9
    blank = [line for line in points if line.startswith("[ ]")]
    assert len(blank) == 4
    assert all(BLANK in line for line in blank)
    assert not any(BLANK in line for line in points if line not in blank)


def test_the_checklist_names_handwork_and_models():
    said = checklist(Outlines(find="cellpose:cyto3"), {}, ["image", "labels"], 12, ["compare.py", "pair.npz"])
    assert "12 outlines left out by hand, by their ids in compare.py, pair.npz" in said
    assert f"how the given labels were made, and where they are, {BLANK}" in said
    assert f"[ ] Cite original method: cellpose:cyto3: its publication, {BLANK}." in said
    assert "Standardized format" in said
    assert "Machine learning" not in checklist(Outlines(find="cellpose"), {}, ["labels"], 0, [])


def test_a_reopened_comparison_knows_which_proposal_its_recipe_was(model, bare_dock, qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path / "paper"))
    choices, task = bare_dock.session.choices, bare_dock.comparison
    choices.proposed[choices.recipe] = 2
    press(bare_dock.run_button, qtbot)
    wait_until_idle(task, qtbot)
    said = export(bare_dock, qtbot, tmp_path / "paper")
    assert "number 2 of those proposed" in said
    model.layers.clear()
    choices.proposed.clear()
    task.open(tmp_path / "paper" / "pair.comparison.npz")
    wait_until_idle(task, qtbot)
    assert export(bare_dock, qtbot, tmp_path / "paper") == said
