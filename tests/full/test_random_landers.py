"""A few random landers at random sites; `python -m tests.random_landers 50 SEED` tries as many as are asked for."""

from tests.random_landers import search


def test_random_landers_fly_by_the_gravity_of_their_files():
    table, failures = search(6, seed=7)
    assert failures == [] and table.splitlines()[-1].startswith("| all 6 |")
