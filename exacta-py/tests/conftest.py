"""Inputs that several tests share."""

import numpy as np
import pytest

import exacta


@pytest.fixture
def labels():
    """The pair of label maps of the worked examples: shape (1, 2, 2), three classes."""
    return np.array([[[0, 1], [1, 2]]]), np.array([[[0, 1], [2, 2]]])


@pytest.fixture(autouse=True)
def _default_threads():
    yield
    exacta.set_num_threads(None)
