"""The numbers of the cobbles paper's estimation, by its tables. Lengths in m, the rest SI, pixels."""

import numpy as np

from difsim.units import G0

MARKERS = 7  # a body
MARKER_NOISE = 0.67e-3  # m
PIXEL_NOISE = (1.0, 2.0, 3.0)  # px

ARCS = ((0.0, 0.65), (1.05, 2.5))  # s, Table 8
EPOCHS = (14, 30)
# Table 9: half-widths of the box of the guesses: r, v, modified Rodrigues parameters, spin.
BOX = (np.full(12, 0.1), np.r_[np.full(11, 0.1), 0.5])

# Table 13. Those of the calibration are in cameras.py.
MASS_ERROR = 0.05  # of the mass
INERTIA_ERROR = 0.05  # of the largest moment
ACCELERATION = 1e-4 * G0

# Tables 10 to 12: rms of position (1e-4 m) and spin (rad/s); rows first arc body 1, 2, second arc body 1, 2;
# columns 1, 2 and 3 px. The paper prints the same numbers in Tables 10 and 11.
POSITION_RMS = {
    1: [[6.0596, 5.4501, 6.9741], [7.8178, 5.6320, 19.551], [7.8990, 9.5734, 6.9574], [5.0795, 15.153, 11.985]],
    3: [[5.5584, 17.164, 10.826], [23.172, 12.521, 16.706], [10.470, 12.211, 7.1583], [13.222, 12.703, 12.497]],
}
SPIN_RMS = {
    1: [[0.0473, 0.0470, 0.0556], [0.0112, 0.0459, 0.0309], [0.0190, 0.0138, 0.0114], [0.0127, 0.0751, 0.0571]],
    3: [[0.0206, 0.0682, 0.0359], [0.1178, 0.0760, 0.0593], [0.0282, 0.0174, 0.0271], [0.0392, 0.0365, 0.0538]],
}
POSITION_RMS[2], SPIN_RMS[2] = POSITION_RMS[1], SPIN_RMS[1]

# Tables 14 to 16: share of converged samples, mean and standard deviation of CoR_E, for 1, 2 and 3 px.
MONTE_CARLO = {
    1: [(0.95, 0.8458, 0.0053), (0.90, 0.8465, 0.0070), (0.94, 0.8464, 0.0088)],
    2: [(0.97, 0.8458, 0.0051), (0.97, 0.8453, 0.0046), (0.98, 0.8452, 0.0089)],
    3: [(0.96, 0.8455, 0.0136), (0.94, 0.8480, 0.0124), (0.92, 0.8429, 0.0140)],
}

# Figs 17 and 18: scenario 2.
MAP_MARKER = (0.1e-3, 0.67e-3, 1e-3, 1.5e-3, 2e-3)  # m
MAP_PIXEL = (1.0, 1.5, 2.0, 2.5, 3.0)
