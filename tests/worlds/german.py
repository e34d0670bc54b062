"""A caller whose machine speaks German."""

import subprocess
from collections.abc import Mapping
from gettext import find

ENVIRONMENT: Mapping[str, str] = {"LANG": "de_DE.UTF-8", "LANGUAGE": "de"}


def missing() -> str | None:
    """Why git cannot speak German here; None where it can."""
    if not any(find("git", f"{prefix}/share/locale", ["de"]) for prefix in ("/usr", "/usr/local")):
        return "git's German catalogue (share/locale/de/LC_MESSAGES/git.mo) is missing"
    try:
        locales = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout.lower()
    except FileNotFoundError:
        return "`locale` is missing"
    return None if "de_de.utf8" in locales.split() else "the locale de_DE.UTF-8 is missing"
