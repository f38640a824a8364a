"""What all particle methods share: who is near whom."""

from difsim.particles.neighbours import Neighbours as Neighbours
from difsim.particles.neighbours import all_pairs as all_pairs
