"""A test that may be looked at after every observation: betting against the uniformity of p-values."""

import numpy as np

from .._types import Real

# Powers ε of the bets ε·p^(ε - 1); the last is no bet. The share of the capital that is spread anew over all of them
# before each bet lets the test react to a change after a long quiet time.
_POWERS, _SPREAD = np.array([0.1, 0.3, 0.5, 0.7, 1.0]), 0.01


def martingale(p_values: Real) -> Real:
    """Capital of a gambler who bets on small p-values, after each of them, starting from 1.

    Parameters
    ----------
    p_values : (T,) array
        In (0, 1]; in order. Under the null they are independent and uniform: such as smoothed conformal p-values of
        each observation among all before it.

    Returns
    -------
    (T,) array
        A test martingale: under the null its expectation stays 1, and the probability that it ever reaches 1/α is at
        most α (Ville's inequality), however often, and for however long, it is looked at.

    References
    ----------
    V. Vovk, "Testing randomness online", Statistical Science 36 (2021) 595-611: power martingales, and the simple
    jumper, which spreads its capital anew.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.mmd.sequential import martingale
    >>> martingale(np.array([0.5, 0.02, 0.03, 0.01])).round(2).tolist()
    [0.65, 1.67, 4.31, 23.37]
    """
    capital, total = np.full(len(_POWERS), 1 / len(_POWERS)), []
    for p in p_values:
        capital = (1 - _SPREAD) * capital + _SPREAD * capital.mean()
        capital = capital * _POWERS * p ** (_POWERS - 1)
        total.append(capital.sum())
    return np.array(total)
