"""All public names: those at the top, and those of the public modules as ``module.name``."""

import copartition as cp

MODULES = ("couplings", "functionals", "kernels", "plots")  # which are named at the top, and have no page of their own


def public_names():
    """Objects by name, each under one name."""
    found = {name: getattr(cp, name) for name in cp.__all__ if name not in (*MODULES, "__version__")}
    for module in ("kernels", "couplings", "answers", "errors", "partition", "functionals"):
        here = getattr(cp, module)
        for name in here.__all__:
            if not any(getattr(here, name) is other for other in found.values()):
                found[f"{module}.{name}"] = getattr(here, name)
    return found
