"""Which files are compared with which."""

import pytest

from exacta.cli._cases import find_cases, stem


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.nii.gz", "a"),
        ("a.b.nii", "a.b"),
        ("a.NRRD", "a"),
        ("a.nhdr", "a"),
        ("a.mha", "a"),
        ("a.mhd", "a"),
        ("a.gz", None),
        ("a.raw", None),
        ("dataset.json", None),
        (".nii.gz", None),
    ],
)
def test_stem(tmp_path, name, expected):
    assert stem(tmp_path / name) == expected


def touch(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_folders_pair_by_relative_path_whatever_the_format(tmp_path):
    pred, target = tmp_path / "pred", tmp_path / "target"
    touch(pred, "a.nii.gz", "sub/b.mha", "sub/c.nii", "plans.json", ".hidden.nii", ".git/x.nii")
    touch(target, "a.nrrd", "sub/b.nii.gz", "other/c.nii", "labels.csv")
    cases = find_cases(pred, target)
    assert [(case.name, bool(case.problem)) for case in cases] == [
        ("a", False),
        ("other/c", True),
        ("sub/b", False),
        ("sub/c", True),
    ]
    assert cases[0].pred == pred / "a.nii.gz"
    assert cases[0].target == target / "a.nrrd"
    assert "in PRED" in cases[1].problem
    assert "in TARGET" in cases[3].problem


def test_two_images_of_one_name_are_a_problem_of_that_case(tmp_path):
    pred, target = tmp_path / "pred", tmp_path / "target"
    touch(pred, "a.nii.gz", "a.mha", "b.nii")
    touch(target, "a.nii.gz", "b.nii")
    problem, fine = find_cases(pred, target)
    assert "PRED has 2 images of this name: a.mha, a.nii.gz" in problem.problem
    assert not fine.problem


def test_two_files_are_one_case_whatever_their_names(tmp_path):
    touch(tmp_path, "guess.nii.gz", "truth.mha")
    (case,) = find_cases(tmp_path / "guess.nii.gz", tmp_path / "truth.mha")
    assert (case.name, case.problem) == ("guess", "")


def test_linked_folders_are_followed_but_not_in_circles(tmp_path):
    pred, target, store = tmp_path / "pred", tmp_path / "target", tmp_path / "store"
    touch(store, "a.nii")
    for side in (pred, target):
        side.mkdir()
        (side / "sub").symlink_to(store)
    (store / "again").symlink_to(store)
    assert [case.name for case in find_cases(pred, target)] == ["sub/a"]


def test_a_file_and_a_folder_are_wrong_usage(tmp_path, run):
    touch(tmp_path, "a.nii", "folder/a.nii")
    result = run(tmp_path / "a.nii", tmp_path / "folder")
    assert result.exit_code == 2
    assert "PRED is a file and TARGET a folder" in result.stderr


def test_a_folder_without_images_is_wrong_usage(tmp_path, run):
    touch(tmp_path, "full/a.nii", "empty/notes.txt")
    result = run(tmp_path / "empty", tmp_path / "full")
    assert result.exit_code == 2
    assert "holds no image" in result.stderr


def test_a_path_that_does_not_exist_is_wrong_usage(tmp_path, run):
    assert run(tmp_path, tmp_path / "nothing").exit_code == 2
