"""The contracts as test classes, for people who add a policy or a storage. Needs pytest; duelist itself does not.

from duelist.testing import PolicyContract

class TestMyPolicy(PolicyContract):
    def make(self, random_state):
        return MyPolicy(random_state=random_state)
"""

from __future__ import annotations

import pytest

# before their imports, so that failures show values
pytest.register_assert_rewrite("duelist.testing.policies", "duelist.testing.storages")

from duelist.testing.policies import NativePolicyContract, PolicyContract  # noqa: E402
from duelist.testing.storages import StorageContract  # noqa: E402

__all__ = ["NativePolicyContract", "PolicyContract", "StorageContract"]
