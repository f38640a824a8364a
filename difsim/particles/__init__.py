"""The common parts of all particle methods: neighbour lists, sums over pairs, and the interface of a model."""

from difsim.particles.barrier import optimisation_barrier as optimisation_barrier
from difsim.particles.mapped import pair_map as pair_map
from difsim.particles.model import AbstractParticles as AbstractParticles
from difsim.particles.neighbours import SLACK as SLACK
from difsim.particles.neighbours import Neighbours as Neighbours
from difsim.particles.pairs import Pairs as Pairs
from difsim.particles.sums import pair_sums as pair_sums
from difsim.particles.vectors import Each as Each
from difsim.particles.vectors import cross as cross
from difsim.particles.vectors import dot as dot
from difsim.particles.vectors import minus as minus
from difsim.particles.vectors import outer as outer
from difsim.particles.vectors import rows as rows
from difsim.particles.vectors import stacked as stacked
from difsim.particles.vectors import times as times
from difsim.particles.vectors import upper as upper
