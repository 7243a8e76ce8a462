"""The contracts as test classes, for your own policies, links and storages.

They need pytest, which duelist does not install.

from duelist.testing import PolicyContract

class TestMyPolicy(PolicyContract):
    def make(self, random_state):
        return MyPolicy(random_state=random_state)
"""

from __future__ import annotations

import pytest

# before their imports, so that failed assertions show values
pytest.register_assert_rewrite(
    *(f"duelist.testing.{room}" for room in ("arm_table", "links", "native_policies", "policies", "storages"))
)

from duelist.testing.arm_table import ArmTableContract  # noqa: E402
from duelist.testing.links import LinkContract  # noqa: E402
from duelist.testing.native_policies import NativePolicyContract, RuleContract  # noqa: E402
from duelist.testing.policies import PolicyContract  # noqa: E402
from duelist.testing.storages import StorageContract  # noqa: E402

__all__ = [
    "ArmTableContract",
    "LinkContract",
    "NativePolicyContract",
    "PolicyContract",
    "RuleContract",
    "StorageContract",
]
