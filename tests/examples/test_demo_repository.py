"""The example repository's files become a git repository with two honest pull requests."""

import pytest

pytestmark = pytest.mark.slow


def files_below(folder):
    return {
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_branch_changes_the_files_of_its_overlay_and_no_others(demo, tmp_path):
    module, folder = demo.demo_repository, tmp_path / "repository"

    module.build_repository(folder)

    for branch in module.BRANCHES:
        changed = module.git(folder, "diff", "--name-only", "main", branch.name).split()
        assert set(changed) == {str(path) for path in files_below(branch.overlay)}


def test_every_branch_is_one_commit_on_top_of_main(demo, tmp_path):
    module, folder = demo.demo_repository, tmp_path / "repository"

    module.build_repository(folder)

    main = module.commit_of(folder, "main")
    parents = {module.commit_of(folder, f"{each.name}^") for each in module.BRANCHES}
    assert parents == {main}
    assert module.git(folder, "status", "--porcelain") == ""
    assert module.git(folder, "branch", "--show-current").strip() == "main"


def test_the_users_own_git_settings_change_nothing(demo, tmp_path, monkeypatch):
    settings = tmp_path / "gitconfig"
    settings.write_text("[commit]\n\tgpgsign = true\n[init]\n\tdefaultBranch = trunk\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    module, folder = demo.demo_repository, tmp_path / "repository"

    module.build_repository(folder)

    author = module.git(folder, "log", "-1", "--format=%an <%ae>", "main").strip()
    assert author == "Demo Author <author@example.com>"


def test_what_git_refuses_is_an_error_with_its_words(demo, tmp_path):
    module = demo.demo_repository

    with pytest.raises(module.DemoError, match=r"git rev-parse .* failed in .*: fatal:"):
        module.commit_of(tmp_path, "main")


def test_overlays_replace_files_that_exist_and_differ(demo, examples):
    for branch in demo.demo_repository.BRANCHES:
        paths = files_below(branch.overlay)
        assert paths
        for path in paths:
            before = (examples / "repository" / path).read_text(encoding="utf-8")
            assert (branch.overlay / path).read_text(encoding="utf-8") != before


def test_what_is_planted_is_one_slow_branch_and_one_innocent_one(demo):
    planted = [branch.slower for branch in demo.demo_repository.BRANCHES]

    assert planted == ["benchmarks.torch_gpt:train_step", ""]
