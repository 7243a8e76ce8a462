"""The contracts as test classes, for people who add a policy. Needs pytest; duelist itself does not.

from duelist.testing import PolicyContract

class TestMyPolicy(PolicyContract):
    def make(self, random_state):
        return MyPolicy(random_state=random_state)
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("duelist.testing.policies")  # before its import, so that failures show values

from duelist.testing.policies import CompiledPolicyContract, PolicyContract  # noqa: E402

__all__ = ["CompiledPolicyContract", "PolicyContract"]
