"""The numbers of the cobbles paper ("the paper": Vaghi et al., Contact dynamics investigation towards microgravity
experiment for asteroid-related scenarios), by its tables. Lengths in m, angles in deg, pixels, the rest SI."""

import numpy as np

from difsim.units import G0

# Table 1: the colliding bodies, two of the same.
MASS = 1.1571  # kg
LENGTH = 0.1188  # m, "characteristic length"; taken as the longest side
INERTIA = np.array([0.001119, 0.001010, 0.000817])  # kg m², along the body's axes
VERTICES = 1348

# Table 3: the contact.
RESTITUTION = 0.6  # of normal speeds
FRICTION = 0.8
COMPLIANCE = 1e-4  # m/N
DURATION = 2.5  # s

# Table 4: the initial states. It prints "0.26" and "60" as one number, 0.2660.
POSITIONS = np.array([[-0.153, 0.08, 0.0], [0.153, 0.08, 0.0]])
SPEED, INCLINATION = 0.26, 60.0  # m/s, deg from the line of centres
ATTITUDES = np.array([[0.6, 0.0, 0.0, -0.8], [0.6, 0.0, 0.0, 0.8]])  # scalar first, body to frame

# Tables 5 and 6: rows are input restitutions, columns inclinations α.
RESTITUTIONS = (0.6, 0.7, 0.8, 0.9)
INCLINATIONS = (0.0, 15.0, 30.0, 60.0)
ENERGY_RATIO = np.array(  # CoR_E, of the kinetic energies in the laboratory frame
    [
        [0.3972, 0.3956, 0.5376, 0.8458],
        [0.5256, 0.5154, 0.6525, 0.8842],
        [0.6812, 0.6535, 0.7720, 0.9257],
        [0.8843, 0.8107, 0.8897, 0.9632],
    ]
)
NORMAL_RATIO = np.array(  # of the normal speeds after and before
    [
        [0.6158, 0.5643, 0.6052, 0.6047],
        [0.7098, 0.6619, 0.7170, 0.7166],
        [0.8096, 0.7592, 0.8227, 0.8224],
        [0.9250, 0.8571, 0.9096, 0.9091],
    ]
)

# Table 7: cameras. The GoPro's field of view is used for the Phantom too, whose own is not given.
PHANTOM = (1920, 1080)  # pixels
FIELD_OF_VIEW = (87.0, 54.0)  # deg

# Wall-clock times of its runs with Chrono (text; an Intel i7-13700H): converged smooth, and hard at 1 ms.
SMOOTH_SECONDS, HARD_SECONDS = 29.81, 5.65

# The estimation: markers and their noise.
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
