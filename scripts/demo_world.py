"""The demo's world: a package with a type error, a bare remote behind a smart-HTTP server, and a colleague."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from worlds.http_server import HttpServer

FLOW = Path(__file__).with_name("flow.py")
CONFIG = "[user]\nname = Flow\nemail = flow@example.invalid\n[init]\ndefaultBranch = main\n"
FILES = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n\n[tool.mypy]\nfiles = ["shop"]\nstrict = true\n',
    ".gitignore": "__pycache__/\n.mypy_cache/\n",
    "shop/__init__.py": "",
    "shop/cart.py": "def total(prices: list[int]) -> str:\n    return sum(prices)\n",
}


def git(cwd: Path, *args: str) -> str:
    """Run plain git, as a person would."""
    return subprocess.run(["git", *args], cwd=cwd, check=True, capture_output=True, text=True).stdout


def say(title: str) -> None:
    """Print a step's title."""
    print(f"\n=== {title}", flush=True)


def main() -> None:
    """Make the world, run the flow twice, and show what the remote has in the end."""
    with tempfile.TemporaryDirectory(prefix="orca-demo-") as folder:
        top = Path(folder)
        os.environ["HOME"] = folder
        (top / ".gitconfig").write_text(CONFIG)
        git(top, "init", "--quiet", "--bare", "shop.git")
        git(top / "shop.git", "config", "http.receivepack", "true")
        with HttpServer(top) as server:
            url = server.url_of("shop.git")
            say(f"a package with a type error, on {url}")
            work, colleague = top / "work", top / "colleague"
            git(top, "clone", "--quiet", url, str(work))
            for name, text in FILES.items():
                (work / name).parent.mkdir(exist_ok=True)
                (work / name).write_text(text)
            git(work, "add", "-A")
            git(work, "commit", "--quiet", "-m", "A shop")
            git(work, "push", "--quiet", "origin", "main")
            print(FILES["shop/cart.py"].rstrip())

            say("a colleague pushes a commit that we do not have")
            git(top, "clone", "--quiet", url, str(colleague))
            (colleague / "README.md").write_text("# Shop\n")
            git(colleague, "add", "README.md")
            git(colleague, "-c", "user.name=Colleague", "commit", "--quiet", "-m", "Describe the shop")
            git(colleague, "push", "--quiet", "origin", "main")

            for title in ("the flow", "the flow again"):
                say(title)
                subprocess.run([sys.executable, str(FLOW)], cwd=work, check=True)

            say("what the remote has")
            print(git(top / "shop.git", "log", "--graph", "--format=%h %an: %s", "main").rstrip())


if __name__ == "__main__":
    main()
