"""The same seed gives the same numbers as it always did: runs of every kind against stored values."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bits

STORED = json.loads(bits.FILE.read_text())


@pytest.fixture(scope="module")
def found():
    return bits.runs()


# Whole numbers (meeting times, distances, what clusters count) are the same everywhere. Densities and variances may
# differ in their last digits between processors, which add up sums in another order.
@pytest.mark.parametrize("name", STORED)
def test_runs_give_the_numbers_that_are_stored(found, name):
    assert found[name].keys() == STORED[name].keys()
    for key, stored in STORED[name].items():
        if key == "traces":
            assert found[name][key] == stored
        else:
            np.testing.assert_allclose(found[name][key], stored, rtol=1e-9, atol=1e-12, err_msg=key)


def test_no_run_is_left_out(found):
    assert found.keys() == STORED.keys()
