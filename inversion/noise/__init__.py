"""Laws of the error of measured numbers, for `Observation` and `Series`.

Their numbers are known, or are names of parameters of the problem, which are then fitted with the rest.
"""

from .censored import Censored as Censored
from .correlated import Correlated as Correlated
from .independent import Normal as Normal
from .independent import StudentT as StudentT
from .law import AbstractNoise as AbstractNoise
