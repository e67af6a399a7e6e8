"""The bundled example: velocities of galaxies."""

from __future__ import annotations

import numpy as np

# Velocities in km/s of 82 galaxies in six well-separated conic sections of the Corona Borealis region, from Postman,
# Huchra and Geller (1986), analysed by Roeder (1990) and in most papers on mixtures since.
_GALAXIES = """
    9172 9350 9483 9558 9775 10227 10406 16084 16170 18419 18552 18600 18927 19052 19070 19330 19343 19349 19440 19473
    19529 19541 19547 19663 19846 19856 19863 19914 19918 19973 19989 20166 20175 20179 20196 20215 20221 20415 20629
    20795 20821 20846 20875 20986 21137 21492 21701 21814 21921 21960 22185 22209 22242 22249 22314 22374 22495 22746
    22747 22888 22914 23206 23241 23263 23484 23538 23542 23666 23706 23711 24129 24285 24289 24366 24717 24990 25633
    26960 26995 32065 32789 34279
"""


def galaxies() -> np.ndarray:
    """Return the velocities of 82 galaxies, in 1,000 km/s.

    Examples
    --------
    >>> from copartition import datasets
    >>> datasets.galaxies().shape
    (82,)
    """
    return np.array(_GALAXIES.split(), dtype=float) / 1000.0
