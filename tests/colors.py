"""How far colours are apart, for people who see all of them and for those who do not.

What people see who lack one kind of cones is computed by the matrices of Machado, Oliveira and Fernandes (2009, IEEE
Transactions on Visualization and Computer Graphics), severity 1.0, in linear RGB. Distances are those of CIE 1976 in
CIELAB, of which L is the lightness, which is what is left in grey.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from matplotlib.collections import LineCollection

SEEN_BY = {
    "all": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.119192, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colors):
    """RGB from 0 to 1, as matplotlib has it, in proportion to light."""
    colors = np.asarray(colors, dtype=float)
    return np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)


def lab(light):
    """CIELAB of linear RGB."""
    xyz = light @ TO_XYZ.T / WHITE
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def rgb(colors):
    """RGB of colours as matplotlib takes them, on white where they are not opaque."""
    from matplotlib.colors import to_rgba

    rows = np.array([to_rgba(color) for color in colors])
    return rows[:, :3] * rows[:, 3:] + 1.0 - rows[:, 3:]


def lightness(colors):
    """L of each colour."""
    return lab(linear(rgb(colors)))[:, 0]


def nearest(colors):
    """The least difference of any two colours, for whoever sees them worst."""
    light = linear(rgb(colors))
    seen = [lab(np.clip(light @ matrix.T, 0.0, 1.0)) for matrix in SEEN_BY.values()]
    return min(np.linalg.norm(a - b) for view in seen for a, b in combinations(view, 2))


def least_step(colors):
    """The least difference of lightness of any two colours."""
    return float(np.diff(np.sort(lightness(colors))).min())


def series_of(ax):
    """What the legend tells apart, each with its colour and with what is left of it in grey."""
    found = []
    for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
        line = handle.lines[0] if hasattr(handle, "lines") else handle  # of an errorbar
        color = line.get_color() if hasattr(line, "get_color") else line.get_edgecolor()
        if isinstance(handle, LineCollection):
            color = handle.get_color()[0]
        dashes = getattr(line, "_unscaled_dash_pattern", line.get_linestyle())  # lines call all of their own "--"
        pattern = str(dashes), str(line.get_marker() if hasattr(line, "get_marker") else "")
        found.append((text, color, pattern))
    return found
