"""The cobbles study: its stones, the paper's tables, and what a collision of the study writes."""

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from experiments.cobbles import collision, paper
from experiments.cobbles.run import Cobbles
from experiments.cobbles.scene import hard, release
from experiments.cobbles.stones import BENNU, cobble, stone
from experiments.harness import write
from experiments.records import provenance
from experiments.variables import find_undescribed
from tests.helpers import find_published
from tests.results import assert_spin_is_in_its_frame


def test_bennus_shape_gives_table_5():
    find_published(BENNU)
    table = [(e, release(a)) for e in paper.RESTITUTIONS for a in paper.INCLINATIONS]
    e, states = zip(*table, strict=True)
    cases = collision.Cases.build(jax.tree.map(lambda *rows: jnp.stack(rows), *states), jnp.array(e))
    found = collision.collisions(stone(cobble("bennu", 0), 30), hard, cases)
    off = np.reshape(found.impacts.energy_restitution, (4, 4)) - paper.ENERGY_RATIO
    assert not np.any(found.status)
    assert np.abs(off[:, np.array(paper.INCLINATIONS) != 15.0]).max() < collision.TOLERANCE
    np.testing.assert_allclose(found.impacts.normal_restitution, e, atol=1e-9)


def test_quick_collision_writes_the_papers_tables(tmp_path):
    told = collision.collide_all(True, cobble("generated", 5))
    write(tmp_path, told, provenance() | {"stage": "collision", "wall_seconds": 1.0}, Cobbles)
    found = told.summary
    assert found["nominal"]["status"] == "OK" and found["nominal"]["contacts"] == 1
    assert found["attitudes"]["failed"] == 0
    for law in ("hard", "smooth", "compliant"):
        table = found["table"][law]
        assert table["status"] == ["OK"] and table["within_tolerance"]
        # α changes nothing but the speed in the frame of the centre of mass: these collisions are the same.
        of_centre = np.array(table["energy_ratio_cm"])
        np.testing.assert_allclose(of_centre, of_centre[:, :1] * np.ones(4), atol=0.01 if law != "hard" else 1e-9)
        cos = np.cos(np.radians(paper.INCLINATIONS))
        np.testing.assert_allclose(table["energy_ratio"], 1 - (1 - of_centre) * cos**2, atol=1e-6)
        np.testing.assert_allclose(
            table["normal_ratio"], np.array(paper.RESTITUTIONS)[:, None] + np.zeros(4), atol=0.01
        )
    # Fig. 4: converged below a tenth of a millisecond, a twentieth of the contact.
    steps, off = found["convergence"]["step_s"], found["convergence"]["by_step"]
    for law in ("hard", "smooth", "compliant"):
        assert max(o for s, o in zip(steps, off[law], strict=True) if s <= 1e-4) < 2e-3
    table = xr.load_dataset(tmp_path / "result.nc", engine="h5netcdf")
    assert all(np.isfinite(v).all() for v in table.values() if v.dtype.kind == "f")
    assert find_undescribed(table) == [] and "<h2>" in (tmp_path / "report.html").read_text()
    for body in (0, 1):
        assert_spin_is_in_its_frame(table, body=body)
    for name in ("convergence", "snapshots", "states", "energies", "tables"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
