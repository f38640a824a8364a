"""Physical constants, and the gravity and spin of small bodies, in SI units like everything in the library."""

import math

HOUR = 3600.0  # s
DAY = 86400.0  # s

G = 6.67430e-11  # m3/(kg s2), CODATA 2018
G0 = 9.80665  # m/s2, standard gravity (exact by definition)

# Gravitational parameters, m3/s2.
GM_67P = 666.2  # public kernel; the mass 9.982e12 kg of the Agilkia reconstruction times G is 666.23
GM_BENNU = 4.892  # OSIRIS-REx
GM_RYUGU = 30.0  # Hayabusa2; not checked against a primary source
GM_ITOKAWA = 2.36  # Hayabusa
GM_EROS = 4.463e5  # NAIF gm_de431.tpc (Yeomans et al., Science 289, 2000)
GM_PHOBOS = 7.087546e5  # NAIF gm_de431.tpc

# Spin rates, rad/s, from the sidereal periods.
#
# 67P: Agilkia reconstruction, sec. 2.1. It prints 2.23894465e-5 rad/s, which is revolutions per second: times
# 2π it is the 12.40664 h of the comet attitude files. The kernel for March to September 2014 has 12.4041 h.
SPIN_67P = 2 * math.pi * 2.23894465e-5  # = 1.40677e-4
SPIN_BENNU = 2 * math.pi / (4.2975 * HOUR)
SPIN_RYUGU = 2 * math.pi / (7.63 * HOUR)
SPIN_ITOKAWA = 2 * math.pi / (12.1324 * HOUR)  # NAIF pck00010.tpc
SPIN_EROS = 2 * math.pi / (5.27026 * HOUR)  # NAIF pck00010.tpc
SPIN_PHOBOS = 2 * math.pi / (7.6538 * HOUR)  # NAIF pck00010.tpc; equal to its orbit

# The lobes of SHAP5 (Jorda et al., Icarus 277 (2016) 257-278) as ellipsoids of the same mass and inertia at
# uniform density, comet-fixed: share of the mass, centre m, axes in columns from the longest on, semi-axes m.
LOBES_67P = (
    (
        0.69,
        (-620.0, 128.0, -58.0),
        ((0.727, -0.159, 0.668), (0.642, 0.503, -0.579), (-0.244, 0.849, 0.468)),
        (2100.0, 1620.0, 975.0),
    ),
    (
        0.31,
        (1442.0, -382.0, 143.0),
        ((0.394, 0.003, -0.919), (0.904, 0.178, 0.388), (0.165, -0.984, 0.067)),
        (1370.0, 1125.0, 925.0),
    ),
)
