"""Tags: what names the kinds of laws, walls and steps in the names of files, whatever their classes are called."""

import importlib
import pkgutil

import equinox as eqx
import pytest

import difsim
from difsim.beds import BedSpecification, CylindricalContainer, GaussianSizes
from difsim.beds.containers import AbstractContainer
from difsim.body import AbstractLandingGear
from difsim.contact.cohesion import AbstractCohesion
from difsim.contact.regularisation import AbstractRegularisation
from difsim.contact.rolling import AbstractRolling
from difsim.dem import AbstractGrainLaw, HertzMindlin
from difsim.dem.clump import AbstractClump
from difsim.gravity import AbstractField
from difsim.particles.model import AbstractParticles
from difsim.saving.marks import digest
from difsim.shape import AbstractSDF
from difsim.shape.noise import AbstractAmplitude
from difsim.sph import AbstractMaterial
from difsim.sph.corrections import AbstractCorrection
from difsim.sph.density import AbstractDensity
from difsim.sph.kernel import AbstractKernel
from difsim.sph.soil import AbstractCone
from difsim.sph.tools import AbstractPath
from difsim.stepping.solvers import AbstractSolver

# Of all that runs of particles, beds and tables are made of.
KINDS = [
    *(
        AbstractContainer,
        AbstractLandingGear,
        AbstractCohesion,
        AbstractRegularisation,
        AbstractRolling,
        AbstractClump,
    ),
    *(AbstractGrainLaw, AbstractField, AbstractParticles, AbstractSDF, AbstractAmplitude, AbstractCorrection),
    *(AbstractDensity, AbstractKernel, AbstractMaterial, AbstractPath, AbstractCone, AbstractSolver),
]


def finals(kind: type) -> list[type]:
    """All classes of difsim of a kind."""
    below = [c for base in kind.__subclasses__() for c in (finals(base) or [base])]
    return [c for c in below if c.__module__.startswith("difsim.")]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_each_kind_has_a_tag_of_its_own(kind):
    """Without one a class is told by its name, and all files that it is in are lost when it is renamed."""
    for module in pkgutil.walk_packages(difsim.__path__, "difsim."):
        importlib.import_module(module.name)
    tags = [vars(c).get("tag") for c in finals(kind)]
    assert tags and None not in tags and len(set(tags)) == len(tags), dict(zip(finals(kind), tags, strict=True))
    assert all(issubclass(c, eqx.Module) for c in finals(kind))


def test_the_hash_of_a_bed_stays():
    """It names files that take hours to make: where it must change, say so in the notes of the release."""
    law = HertzMindlin(4e6, 0.25, restitution=0.3, friction=0.5)
    recipe = BedSpecification(law, GaussianSizes(0.018, 0.003), 1500.0, CylindricalContainer(0.11), 0.1, seed=3)
    assert digest(recipe)[:16] == "2513dcdc42b21fc4"
