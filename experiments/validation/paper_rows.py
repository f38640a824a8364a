"""The rows of the page of the papers: for each table or figure, a function from a study's summary to its rows.

A row is a title, the paper's number, ours, the tolerance and the verdict.
"""

import numpy as np

from experiments.cobbles import paper as cobbles_paper

LEAST = 0.01  # probability below which a model misses the data


def _verdict(holds: bool) -> str:
    return "pass" if holds else "FAIL"


def _compare(name: str, theirs: float, ours: float, tolerance: float | None = None) -> tuple:
    if tolerance is None:
        return name, theirs, f"{ours:.4g}", "none fixed", "reported"
    return name, theirs, f"{ours:.4g}", tolerance, _verdict(abs(ours - theirs) <= tolerance)


def _cells(theirs: np.ndarray, ours: list, tolerance: float | None) -> list[tuple]:
    """The rows of one of the paper's tables over restitution and inclination."""
    return [
        _compare(f"e = {e}, α = {angle:g}°", float(theirs[i, j]), ours[i][j], None if angle == 15.0 else tolerance)
        for i, e in enumerate(cobbles_paper.RESTITUTIONS)
        for j, angle in enumerate(cobbles_paper.INCLINATIONS)
    ]


def table_5(found: dict) -> list[tuple]:
    """Energetic restitution of the cobbles."""
    return _cells(cobbles_paper.ENERGY_RATIO, found["table"]["hard"]["energy_ratio"], 0.08)


def table_6(found: dict) -> list[tuple]:
    """Ratio of normal speeds."""
    return _cells(cobbles_paper.NORMAL_RATIO, found["table"]["hard"]["normal_ratio"], None)


def monte_carlo(found: dict) -> list[tuple]:
    """Tables 14 to 16: CoR_E from cameras, its scatter, and the share of fits that converge."""
    names = {"converged": "converged share", "energy_ratio": "mean CoR_E", "sigma": "σ of CoR_E"}
    return [
        _compare(f"scenario {which}, {pixel} px: {text}", row["paper"][name], row[name])
        for which, rows in found["monte_carlo"].items()
        for pixel, row in rows.items()
        for name, text in names.items()
    ]


def states(found: dict) -> list[tuple]:
    """Tables 10 to 12: rms of the estimated motion; arc 1 of both bodies, then arc 2."""
    rows = []
    for which, by_noise in found["rms"].items():
        for pixel, row in by_noise.items():
            for name, unit, scale in (("position", "1e-4 m", 1e4), ("spin", "rad/s", 1.0)):
                theirs, low, ours, high = (
                    ", ".join(f"{scale * each[key]:.2g}" for each in row[name])
                    for key in ("paper", "5_percent", "median", "95_percent")
                )
                title = f"scenario {which}, {pixel} px: {name}, {unit}"
                rows.append((title, theirs, ours, f"none fixed; 90 % of ours: {low} to {high}", "reported"))
    return rows


def _rises(table: list) -> tuple[str, bool]:
    """The first and last number of a table over both noises, and whether more of either noise gives more."""
    values = np.array(table)
    return f"{values[0, 0]:.3g} to {values[-1, -1]:.3g}", bool(
        (values[-1] > values[0]).all() and (values[:, -1] > values[:, 0]).all()
    )


def accuracy(found: dict) -> list[tuple]:
    """Figs 17 and 18, of which the paper prints no numbers."""
    names = {"residual_px": "Fig. 17: mean residual, px", "sigma_position": "Fig. 18: σ of the position, m"}
    names |= {"sigma_velocity": "Fig. 18: σ of the velocity, m/s", "sigma_spin": "Fig. 18: σ of the spin, rad/s"}
    rows = []
    for key, title in names.items():
        said, rises = _rises(found["accuracy_map"][key])
        rows.append((title, "rises with both noises", said, "trend", _verdict(rises)))
    return rows


def path(found: dict) -> list[tuple]:
    """Fig. 11, one path from the release to rest."""
    theirs = "touches, bounces and comes to rest"
    ours = (
        f"{found['status']}: touches after {found['touchdown_time_s']:.0f} s, rests after "
        f"{found['settling_time_s']:.0f} s, {found['contacts']} contacts, {found['distance_from_touchdown_m']:.0f} m"
    )
    return [("Fig. 11: MINERVA-II over Imhotep", theirs, ours, "trend", _verdict(found["status"] == "OK"))]


def cube(found: dict) -> list[tuple]:
    """The trends in the figures of the hopper paper, which prints no numbers."""
    rows = []
    for law in found["thrown"]:
        paths = {target: row["path_m"] for target, row in found["thrown"][law].items()}
        said = ", ".join(f"{target} {path:.3g} m" for target, path in paths.items())
        shortest = paths["phobos"] == min(paths.values())
        rows.append((f"Fig. 8, {law}: the path is shortest on Phobos", "holds", said, shortest))
        share = found["collision"][law]["share_lost_in_compression"]
        holds = share > 0.9 if law == "paper" else None
        rows.append((f"Fig. 10, {law}: energy is lost in compression", "only", f"{share:.3f} of it", holds))
        slips = found["sliding"][law]["slip_m_s_at_40_s"]
        falls = slips == sorted(slips, reverse=True)
        said = ", ".join(f"{slip:.2g}" for slip in slips) + " m/s"
        rows.append((f"Fig. 9, {law}: the slip speed falls with v*", "holds", said, falls))
    return [
        # None: another law than the paper's.
        (name, theirs, ours, "trend", "reported" if holds is None else _verdict(holds))
        for name, theirs, ours, holds in rows
    ]


def cliff(found: dict) -> list[tuple]:
    """The surface of the heap."""
    apart = found["surface_rms_m"]
    rows = [
        (
            "surface: rms difference, m",
            0.0,
            f"{apart:.2g}",
            "0.002",
            _verdict(apart <= 2e-3),
        ),
        _compare("front, m", found["front_measured_m"], found["front_m"]),
    ]
    rows += [_compare(f"slope over {k}, °", theirs, ours) for k, (ours, theirs) in found["slopes_deg"].items()]
    ours, theirs = found["failure_slope_deg"]
    return [*rows, _compare("mean slope of the failure surface, °", theirs, ours)]


def sampling(found: dict) -> list[tuple]:
    """The orderings of the collected soil."""
    return [
        (
            order,
            "holds",
            f"{row['cm2'][0]:.2f} and {row['cm2'][1]:.2f} cm²",
            "trend",
            _verdict(row["holds"]),
        )
        for order, row in found["orderings"].items()
    ]


def agilkia(found: dict) -> list[tuple]:
    """The observables of the touchdown, within three standard deviations where they are fitted."""
    rows = []
    for name, row in found["observables"].items():
        if row["observed"] is not None:
            near = abs(row["simulated"] - row["observed"]) <= 3 * row["sigma"]
            verdict = _verdict(near) if row["fitted"] else "reported"
            values = (f"{row['observed']:.4g}", f"{row['simulated']:.4g}", f"{3 * row['sigma']:.2g}")
            rows.append((f"{name.replace('_', ' ')}, {row['unit']}", *values, verdict))
    tilts = ", ".join(f"{found['parameters'][name]['value']:.3f}" for name in ("tilt_x", "tilt_y"))
    rows.append(("tilts, rad", "0, 0", tilts, "none fixed", "reported"))
    p = found["posterior"]["p_value"]
    return [
        *rows,
        (
            "probability of a larger misfit, priors included",
            "",
            f"{p:.2g}",
            LEAST,
            _verdict(p > LEAST),
        ),
    ]
