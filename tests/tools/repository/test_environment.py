"""The caller's machine: what of it must not change an answer, and what a repository may not make a read run."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from outcomes import failed, state
from worlds.repository import commit, git, hook, run_git, script, seed, sha, write

from orca.results import Success, or_raise
from orca.tools import GitTool, Pathspec
from orca.tools.repository import neutral

ESC = "\x1b"


def answers(repo: Path) -> list[object]:
    """What every local method says about the repository, and does to it, without what differs from run to run."""
    tool = GitTool(repo / "folder")
    status = or_raise(tool.status())
    answers: list[object] = [
        tool.root == repo,
        or_raise(tool.git_dir()) == repo / ".git",
        (status.branch, status.entries, status.upstream),
        or_raise(tool.current_branch()),
        or_raise(tool.head()) == or_raise(tool.resolve("main")) == sha(repo),
        [branch.name for branch in or_raise(tool.branches())],
        [(entry.subject, entry.author) for entry in or_raise(tool.log())],
        [entry.subject for entry in or_raise(tool.log(paths=["folder/file"]))],
        or_raise(tool.add("new", Pathspec(":(glob)*.C"))),
        or_raise(tool.unstage("new")),
        or_raise(tool.status()).entries,
    ]
    made = or_raise(tool.commit("made\n\n# body", add=["new", "zebra"]))
    answers += [made.subject, made.files, made.insertions, made.deletions, len(made.short)]
    partial = or_raise(tool.commit("partial", only=["folder/file"]))
    answers += [partial.subject, partial.files]
    created = or_raise(tool.create_branch("created"))
    answers += [created.name, created.current, created.worktree == str(repo), created.sha == partial.sha]
    answers += [or_raise(tool.switch("main")).current, or_raise(tool.delete_branch("created")) == partial.sha]
    answers += [or_raise(tool.status()).entries, git(repo, "reflog", "--format=%gs").decode().splitlines()[1:3]]
    return answers


def busy(repo: Path) -> Path:
    """A repository in which there is something for each method to say and to do."""
    commit(repo, "folder/before", "one\ntwo\n", "folder")
    git(repo, "mv", "folder/before", "folder/file")
    git(repo, "commit", "--quiet", "-m", "moved")
    commit(repo, "Upper.c", "one\n", "upper")
    original = sha(repo)
    replaced = git(repo, "commit-tree", "-p", "HEAD~1", "-m", "replaced", "HEAD^{tree}").decode().strip()
    git(repo, "replace", original, replaced)
    git(repo, "branch", "other")
    write(repo / "folder/file", "one\ntwo\nthree\n")
    write(repo / "new", "new\n")
    write(repo / "zebra", "new\n")
    write(repo / "upper.C", "new\n")
    write(repo / "NEW", "new\n")
    return repo


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """What an undisturbed caller is told."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in list(os.environ):
            if name.startswith("GIT_"):
                monkeypatch.delenv(name)
        home = tmp_path_factory.mktemp("home")
        write(home / ".gitconfig", "[user]\n\tname = T\n\temail = t@example.invalid\n")
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        return answers(busy(seed(tmp_path_factory.mktemp("expected") / "repo")))


# Variables that change what plain git says or does; `{repo}` is where the repository is, `{out}` a file beside it.
VARIABLES: Mapping[str, str] = {
    "GIT_WORK_TREE": "/nonexistent",
    "GIT_OBJECT_DIRECTORY": "/nonexistent",
    "GIT_COMMON_DIR": "/nonexistent",
    "GIT_QUARANTINE_PATH": "/nonexistent",
    "GIT_INTERNAL_SUPER_PREFIX": "super/",
    "GIT_CEILING_DIRECTORIES": "{repo}",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_REPLACE_REF_BASE": "refs/nothing/",
    "GIT_SHALLOW_FILE": "{out}.shallow",
    "GIT_GRAFT_FILE": "{out}.graft",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NOGLOB_PATHSPECS": "1",
    "GIT_ICASE_PATHSPECS": "1",
    "GIT_REFLOG_ACTION": "hostile",
    "GIT_EXTERNAL_DIFF": "touch {out}",
    "GIT_TRACE": "{out}",
    "GIT_TRACE2_EVENT": "{out}",
    "GIT_TRACE_SETUP": "{out}",
    "GIT_TR2_EVENT": "{out}",
    "GIT_PAGER": "touch {out}",
    "GIT_EDITOR": "touch {out}; false",
    "PAGER": "touch {out}",
    "EDITOR": "touch {out}; false",
    "VISUAL": "touch {out}; false",
    "FORCE_COLOR": "1",
    "CLICOLOR_FORCE": "1",
    "COLUMNS": "2",
    "TERM": "dumb",
    "GIT_PAGER_IN_USE": "1",
    "GIT_MERGE_VERBOSITY": "5",
    "LANGUAGE": "de",
    "LC_ALL": "de_DE.UTF-8",
    "TZ": "Pacific/Kiritimati",
}


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_of_the_callers_changes_no_answer(
    variable: str, repo: Path, expected: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy(repo)
    out = repo.parent / "out"
    write(repo.parent / "out.shallow", f"{sha(repo)}\n")
    write(repo.parent / "out.graft", f"{sha(repo)}\n")
    monkeypatch.setenv(variable, VARIABLES[variable].format(repo=repo, out=out))
    assert answers(repo) == expected
    assert not out.exists()


def test_a_hostile_display_changes_no_answer(
    repo: Path, expected: list[object], hostile_display: Mapping[str, str]
) -> None:
    assert answers(busy(repo)) == expected


def test_every_variable_that_must_not_reach_git_is_kept_from_its_hooks_too(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git_sets_itself = {"GIT_INDEX_FILE", "GIT_PREFIX"}
    in_a_hook = {"GIT_DIR", "GIT_INDEX_FILE"}
    out = [*(neutral._OUT - in_a_hook), "GIT_TRACE_ANY", "GIT_TRACE2_ANY", "GIT_TR2_ANY"]
    for name in out:
        monkeypatch.setenv(name, "hostile")
    hook(repo, "pre-commit", f"env > {repo.parent}/env")
    or_raise(GitTool(repo).commit("x", allow_empty=True))
    lines = (repo.parent / "env").read_text().splitlines()
    found = {line.partition("=")[0] for line in lines}
    assert (set(out) - git_sets_itself) & found == set()
    assert "hostile" not in (repo.parent / "env").read_text()
    assert {"LC_ALL=C", "LANGUAGE=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never"} <= set(
        lines
    )


def test_settings_by_variables_are_the_users_and_still_no_display_setting_counts(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "core.fsmonitor": f"touch {repo.parent}/asked",
        "color.ui": "always",
        "log.showSignature": "true",
        "i18n.commitEncoding": "ISO-8859-1",
        "user.name": "Counted",
    }
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (name, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    write(repo / "a.txt", "changed\n")
    assert or_raise(GitTool(repo).commit("käse", add="all")).subject == "käse"
    assert or_raise(GitTool(repo).log(1))[0].author == "Counted"
    assert not (repo.parent / "asked").exists()


# What a repository may not make a read run

READS: Mapping[str, Callable[[GitTool], object]] = {
    "status": GitTool.status,
    "log": GitTool.log,
    "log of paths": lambda tool: tool.log(paths=["a.txt"]),
    "head": GitTool.head,
    "current_branch": GitTool.current_branch,
    "resolve": lambda tool: tool.resolve("HEAD:a.txt"),
    "branches": GitTool.branches,
    "conflicts": GitTool.conflicts,
    "git_dir": GitTool.git_dir,
}


def hostile_repository(repo: Path) -> Path:
    """A repository that names a program wherever git can be made to run one by looking; where it leaves its mark."""
    ran = repo.parent / "ran"
    program = str(script(repo.parent / "program", f'echo "$0 $@" >> {ran}; exec cat'))
    sub = seed(repo.parent / "sub")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../sub", "sub")
    git(repo, "commit", "--quiet", "-m", "submodule")
    signature = " -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n"
    head, _, text = git(repo, "cat-file", "commit", "HEAD").partition(b"\n\n")
    signed = head + b"\ngpgsig" + signature.encode() + b"\n" + text
    git(repo, "update-ref", "HEAD", git(repo, "hash-object", "-t", "commit", "-w", "--stdin", stdin=signed).strip())
    write(repo / ".git/info/attributes", "* diff=hostile\n")
    for name in ("post-index-change", "pre-auto-gc", "post-checkout"):
        hook(repo, name, f"{program} {name}")
    for setting in (
        *("core.pager", "pager.log", "pager.status", "pager.branch", "core.editor", "core.askPass"),
        *("diff.external", "diff.hostile.command", "diff.hostile.textconv", "interactive.diffFilter"),
        *("gpg.program", "gpg.openpgp.program", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand"),
    ):
        git(repo, "config", setting, program)
    git(repo, "config", "alias.status", f"!{program}")
    git(repo, "config", "log.showSignature", "true")
    git(repo, "config", "log.diffMerges", "on")
    for place in (repo, repo / "sub"):
        git(place, "config", "core.fsmonitor", program)
        os.utime(place / "a.txt", (1, 1))
    write(repo / "sub/a.txt", "changed\n")
    write(repo / "a.txt", "changed\n")
    assert sub != repo
    ran.unlink(missing_ok=True)
    return ran


@pytest.mark.parametrize(
    "command", [("status",), ("diff",), ("log", "-1"), ("log", "-1", "-p"), ("update-index", "--refresh")]
)
def test_a_hostile_repository_makes_plain_git_run_programs(command: tuple[str, ...], repo: Path) -> None:
    ran = hostile_repository(repo)
    run_git(repo, *command)
    assert ran.exists()


@pytest.mark.parametrize("method", READS)
def test_a_read_runs_no_program_that_the_repository_names(method: str, repo: Path) -> None:
    ran = hostile_repository(repo)
    assert isinstance(READS[method](GitTool(repo)), Success)
    assert not ran.exists(), ran.read_text()


def test_asking_whether_there_is_something_to_commit_runs_no_program_either(repo: Path) -> None:
    ran = hostile_repository(repo)
    assert not isinstance(GitTool(repo).commit("x"), Success)
    assert not ran.exists(), ran.read_text()


def partial_clone(repo: Path) -> tuple[Path, Path]:
    """A clone that lacks every tree and file, whose remote names a program; and the marker that it leaves."""
    git(repo, "config", "uploadpack.allowFilter", "true")
    clone, ran = repo.parent / "clone", repo.parent / "ran"
    args = ("--quiet", "--filter=tree:0", "--no-checkout", f"file://{repo}", clone)
    git(repo.parent, "-c", "protocol.file.allow=always", "clone", *args)
    git(clone, "config", "remote.origin.uploadpack", f"touch {ran}; git-upload-pack")
    git(clone, "config", "core.sshCommand", f"touch {ran}; false")
    return clone, ran


def test_a_read_fetches_nothing_that_a_partial_clone_left_out(repo: Path) -> None:
    clone, ran = partial_clone(repo)
    tool = GitTool(clone)
    assert len(or_raise(tool.log())) == 1
    assert failed(tool.resolve("HEAD:a.txt")).effect == "none"
    assert failed(tool.log(paths=["a.txt"])).effect == "none"
    tool.status()
    assert not ran.exists()
    assert run_git(clone, "rev-parse", "HEAD:a.txt").returncode == 0
    assert ran.exists()


def test_what_changes_something_may_fetch_what_it_needs(repo: Path) -> None:
    clone, ran = partial_clone(repo)
    or_raise(GitTool(clone).unstage())
    assert ran.exists()
    assert [entry.index + entry.worktree for entry in or_raise(GitTool(clone).status()).entries] == [".D"]


def test_no_terminal_and_no_colour_reaches_a_name(repo: Path, hostile_display: Mapping[str, str]) -> None:
    git(repo, "branch", "other")
    write(repo / "new", "new\n")
    tool = GitTool(repo)
    texts = [branch.name for branch in or_raise(tool.branches())]
    texts += [entry.path for entry in or_raise(tool.status()).entries]
    texts += [entry.short + entry.subject + entry.author for entry in or_raise(tool.log())]
    git(repo, "tag", "v1")
    texts += [failed(tool.add("unknown")).stderr, failed(tool.switch("v1")).stderr]
    assert not any(ESC in text for text in texts)


def test_a_failure_of_a_traced_git_holds_git_s_words_only(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_TRACE", "GIT_TRACE2", "GIT_TRACE_SETUP", "GIT_TRACE_PERFORMANCE"):
        monkeypatch.setenv(name, "1")
    before = state(repo)
    error = failed(GitTool(repo).add("unknown"))
    assert len(error.stderr.splitlines()) == 1
    assert state(repo) == before
