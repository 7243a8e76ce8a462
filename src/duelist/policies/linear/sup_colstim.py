"""SupCoLSTIM: Sta'D's layers with CoLSTIM's randomised pair at the end."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.engine import LayeredPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class SupCoLSTIM(LayeredPolicy):
    """Layered CoLSTIM (Bengs, Saha, Huellermeier, ICML 2022).

    Sta'D's three steps (see `StaD`), but step 1 plays CoLSTIM's pair on the remaining arms with
    theta_s and Sigma_s: perturbed utilities choose the first arm, the second is

        argmax_y y . theta_s + eta |y - x|_{Sigma_s^-1}.

    Deviations: as for `StaD`; the perturbation is clipped to sqrt(d log T). It goes with |x|, as published, so that the origin of
    a feature matters.

    Radius: as for `StaD`.

    Cost a round: as for `StaD`.

    >>> import numpy as np
    >>> policy = SupCoLSTIM(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """
