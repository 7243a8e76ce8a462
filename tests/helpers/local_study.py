"""Load a study from a storage, for tests that look inside."""

from duelist.study import Storage, Study, load_study


def load_local_study(name: str, storage: str | Storage) -> Study:
    """Return a study that is not on a server."""
    study = load_study(name, storage)
    assert isinstance(study, Study)
    return study
