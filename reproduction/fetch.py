"""The RNA-seq data of Figure 2B, as the authors processed them, from their public repository."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.request import urlopen

REPOSITORY = "tinnguyen96/coupling-Gibbs-partition"
COMMIT = "0238026cf3b491273ee19b9d1c9ee543c3458037"
FILE = "data/gene_data_Ndata=200_D=50.csv"
SHA256 = "6c0af49052f492cfe3d30d6795565d82eb8cb512d7018bdc31fc2cfd71b3ff2d"
NAME = "zeisel_200x50.csv"


def folder() -> Path:
    """Return where fetched data are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "copartition" / "data"


def fetched() -> Path | None:
    """Return the data if they have been fetched."""
    path = folder() / NAME
    return path if path.exists() else None


def fetch() -> Path:
    """Download the data, check that they are the right ones, and return where they are."""
    url = f"https://raw.githubusercontent.com/{REPOSITORY}/{COMMIT}/{FILE.replace('=', '%3D')}"
    try:
        with urlopen(url, timeout=60) as answer:
            data = answer.read()
    except OSError as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"The data could not be downloaded from {url}: {reason}. Without them, simulated cells are used; "
            "--cells PATH takes a copy."
        ) from None
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ValueError(f"What {url} gave are not the data of Figure 2B: their SHA-256 is another.")
    folder().mkdir(parents=True, exist_ok=True)
    path = folder() / NAME
    path.write_bytes(data)
    return path
