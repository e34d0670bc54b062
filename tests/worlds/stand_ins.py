"""Directories for PATH in which git is broken, too old, or not there."""

from pathlib import Path

from .repository import GIT, script


def sleeping_git(directory: Path) -> Path:
    """A directory whose `git` never ends and never says a word."""
    script(directory / "git", "exec sleep 100000")
    return directory


def old_git(directory: Path) -> Path:
    """A directory whose `git` is the real one, except that it says it is of version 2.20.1."""
    answer = 'case $word in version|--version) echo "git version 2.20.1"; exit;; esac'
    script(directory / "git", f'for word; do {answer}; done\nexec {GIT} "$@"')
    return directory


def no_git(directory: Path) -> Path:
    """A directory with nothing in it."""
    directory.mkdir(parents=True)
    return directory
