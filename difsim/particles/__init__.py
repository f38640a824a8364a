"""The common parts of all particle methods: neighbour lists, sums over pairs, and the interface of a model."""

from difsim.particles.mapped import pair_map as pair_map
from difsim.particles.model import AbstractParticles as AbstractParticles
from difsim.particles.neighbours import SLACK as SLACK
from difsim.particles.neighbours import Neighbours as Neighbours
from difsim.particles.pairs import Pairs as Pairs
from difsim.particles.sums import pair_sums as pair_sums
