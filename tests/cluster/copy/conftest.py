from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.copy.hand_driven import HandDrivenRealm


@pytest.fixture
def realm(tmp_path: Path) -> HandDrivenRealm:
    folder = tmp_path / "bases"
    folder.mkdir()
    return HandDrivenRealm(folder)
