"""The numbers of the cobbles paper ("the paper": Vaghi et al., Contact dynamics investigation towards microgravity
experiment for asteroid-related scenarios), by its tables. Lengths in m, angles in deg, the rest SI."""

import numpy as np

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
