"""Pictures that examples write, looked at as a reader would: what they are of, their size, and ink in every panel."""

from __future__ import annotations

import numpy as np

FRAME = 5  # pixels at the edges of a panel, where its frame is


def drawn(path):
    """Return the titles, or else the labels below, of all panels of the figure that was left open last.

    The picture in the file must have the shape of that figure, and something must be drawn in each of its panels: one
    pixel in two hundred, or more, has another colour than most others there.
    """
    from matplotlib import image, pyplot

    figure = pyplot.gcf()
    pixels = (255 * image.imread(path)[:, :, :3]).round().astype(int)
    height, width = pixels.shape[:2]
    assert width >= 600
    assert abs(width / height - figure.get_figwidth() / figure.get_figheight()) < 0.02
    for ax in figure.axes:
        box = ax.get_position()
        rows = slice(int((1.0 - box.y1) * height) + FRAME, int((1.0 - box.y0) * height) - FRAME)
        panel = pixels[rows, int(box.x0 * width) + FRAME : int(box.x1 * width) - FRAME]
        _, counts = np.unique(panel.reshape(-1, 3), axis=0, return_counts=True)
        assert counts.max() < 0.995 * counts.sum(), f"nothing is drawn in {ax.get_title() or ax.get_xlabel()!r}"
    titles = [ax.get_title() or ax.get_xlabel() for ax in figure.axes]
    pyplot.close(figure)
    return titles
