"""What the documentation shows is true: the README's blocks and the docstrings' examples are run.

In the README a block called `python` is a whole script. They run in their order, each in an interpreter of its own, in
one clone of a repository that has a remote. One called `python no-run` is compiled only. mypy and pyright check both.
"""

import doctest
import importlib
import io
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from readme import README, Block, blocks, commands
from type_checkers import CHECKERS, SETTINGS
from worlds.remote import Remote

import orca
from orca.errors import RuntimeError

TEXT = README.read_text(encoding="utf-8")
BLOCKS = list(blocks(TEXT))
PYTHON = [block for block in BLOCKS if block.info in ("python", "python no-run")]
SHELL = [block for block in BLOCKS if block.info in ("console", "sh")]


def test_every_block_says_what_it_is() -> None:
    known = {"python", "python no-run", "console", "sh", "toml", "text"}
    assert [f"line {block.line}: {block.info!r}" for block in BLOCKS if block.info not in known] == []


def test_the_readme_shows_scripts_that_run(remote: Remote) -> None:
    scripts = [block for block in PYTHON if block.info == "python"]
    assert scripts
    for block in scripts:
        path = remote.root / f"readme_{block.line}.py"
        path.write_text(block.at_its_line() + "\nprint('reached the end')\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, path], cwd=remote.work, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"line {block.line}: {done.stdout}{done.stderr}"
        assert done.stdout.endswith("reached the end\n"), f"line {block.line}: left before its end"


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: f"line {block.line}")
def test_a_script_of_the_readme_compiles(block: Block) -> None:
    compile(block.at_its_line(), str(README), "exec")


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_the_scripts_of_the_readme_pass_with_the_settings_that_it_names(checker: str, tmp_path: Path) -> None:
    paths = []
    for block in PYTHON:
        paths.append(tmp_path / f"readme_{block.line}.py")
        paths[-1].write_text(block.at_its_line(), encoding="utf-8")
    assert CHECKERS[checker](paths, "settings", tmp_path) == {}


@pytest.mark.slow
def test_the_flow_of_the_readme_is_the_one_that_the_demo_runs() -> None:
    root = README.parent
    assert (root / "scripts" / "flow.py").read_text(encoding="utf-8") in {block.text for block in PYTHON}
    done = subprocess.run(
        [sys.executable, "-m", "scripts.demo_world"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ways = ("found: ", "committed: ", "rejected (fetch-first)", "pushed: ", "nothing to commit")
    assert [way for way in ways if way not in done.stdout] == []


def test_the_readme_names_the_settings_that_the_snippets_are_checked_with() -> None:
    assert SETTINGS.read_text(encoding="utf-8") in {block.text for block in BLOCKS if block.info == "toml"}


def test_the_first_two_commands_are_the_demo_and_the_tests() -> None:
    assert [command for block in SHELL for command in commands(block)][:2] == ["./scripts/demo", "./scripts/test"]


@pytest.mark.parametrize("block", SHELL, ids=lambda block: f"line {block.line}")
def test_commands_of_the_readme_are_there(block: Block) -> None:
    lines = "\n".join(commands(block))
    assert lines
    subprocess.run(["bash", "-n"], input=lines, text=True, check=True)
    for program in re.findall(r"(?<!\S)(?:\./)?(?:scripts|\.ci)/[\w-]+", lines):
        assert os.access(README.parent / program, os.X_OK), program


def test_the_readme_names_every_tag() -> None:
    for tag in RuntimeError.__args__:
        assert f"`{tag.__name__}`" in TEXT


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT):
        assert target.startswith("https://") or (README.parent / target).exists(), target


EXAMPLES = {
    test.name: test
    for module in pkgutil.walk_packages(orca.__path__, "orca.")
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module.name), module.name)
    if test.examples
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_docstrings_are_true(name: str, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo)
    said = io.StringIO()
    doctest.DocTestRunner(verbose=False).run(EXAMPLES[name], out=said.write, clear_globs=False)
    assert said.getvalue() == ""
