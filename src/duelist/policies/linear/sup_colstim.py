"""SupCoLSTIM (pair choice: `native/policies/sup_colstim.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.engine import LayeredPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class SupCoLSTIM(LayeredPolicy):
    """Layered CoLSTIM (Bengs, Saha, Huellermeier, ICML 2022).

    The three steps of `StaD`, but step 1 plays CoLSTIM's pair on the remaining arms with theta_s and Sigma_s: perturbed
    utilities choose the first arm, and the second is

        argmax_y y . theta_s + eta |y - x|_{Sigma_s^-1}.

    Deviations: as for `StaD`; the perturbation is clipped to sqrt(d log T). It is proportional to |x|, as published, so
    the origin of a feature matters.

    Radius: as for `StaD`.

    Cost per round: as for `StaD`.

    >>> import numpy as np
    >>> policy = SupCoLSTIM(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """
