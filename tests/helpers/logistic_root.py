"""The root of the logistic estimating equation by plain Newton steps, for problems with noise."""

import numpy as np
from scipy import special


def logistic_root(z, won, ridge):
    """Solve ridge theta + sum (mu(z . theta) - won) z = 0; the caller's problem must not be separable."""
    theta = np.zeros(z.shape[1])
    for _ in range(200):
        p = special.expit(z @ theta)
        gradient = ridge * theta + z.T @ (p - won)
        hessian = ridge * np.eye(len(theta)) + (z.T * (p * (1.0 - p))) @ z
        step = np.linalg.solve(hessian, gradient)
        theta -= step / (1.0 + np.sqrt(max(gradient @ step, 0.0)))  # a damped step cannot overshoot
    return theta
