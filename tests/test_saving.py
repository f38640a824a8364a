"""Files that are whole or not there."""

import pytest

from difsim.saving import save_whole


def test_a_write_that_is_killed_leaves_the_file_before(tmp_path):
    path = tmp_path / "folder" / "piece.npz"

    def half(file):
        file.write(b"ne")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_whole(path, half)
    assert not path.exists()
    save_whole(path, lambda file: file.write(b"old"))
    with pytest.raises(KeyboardInterrupt):
        save_whole(path, half)
    assert path.read_bytes() == b"old"
    save_whole(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"
