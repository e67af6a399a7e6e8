"""What a notebook shows of an estimate: on a light and on a dark page, and its natural pictures.

Run it with ``python examples/notebook.py [picture.png]``. It takes a picture of a page in Chromium, by playwright.
"""

from __future__ import annotations

import base64
import io
import shutil
import sys

import matplotlib
import numpy as np

import copartition as cp
from copartition.datasets import galaxies

matplotlib.use("Agg")
from matplotlib import pyplot

PAGE = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; width: 1240px; font: 14px/1.5 system-ui, sans-serif; background: white }
main { display: flex } section { flex: 1; padding: 16px 20px } .dark { background: #14171b; color: #e7eaee }
img { display: block; width: 1200px; margin: 8px 20px 16px }
</style><main><section>%s</section><section class="dark">%s</section></main><img src="data:image/png;base64,%s">"""


def page_of(replicates: int = 200) -> str:
    """Return the page of an estimate."""
    posterior = cp.Mixture(galaxies(), cp.NormalInverseWishart())
    wanted = [cp.n_clusters(most=8), cp.largest_clusters(4), cp.predictive_density(np.linspace(5, 40, 80))]
    e = cp.estimate(posterior, wanted, settings="auto", replicates=replicates, seed=1)
    e.plot()
    png = io.BytesIO()
    pyplot.savefig(png, dpi=110)
    pyplot.close()
    shown = e._repr_html_()
    return PAGE % (shown, shown, base64.b64encode(png.getvalue()).decode())


def main(picture: str = "notebooks.png") -> None:
    """Take the picture."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1240, "height": 600})
        page.set_content(page_of())
        page.screenshot(path=picture, full_page=True)
        browser.close()
    print(f"Wrote {picture}.")


if __name__ == "__main__":
    main(*sys.argv[1:2])
