"""Pictures of a motion, each by one call. They need the extra `plot` (Matplotlib), which nothing else imports.

Each function draws into `ax`, or into a new figure, and returns the axes, so that labels and limits can be changed.
`inversion.corner` draws a posterior.
"""

from difsim.plot.motion import energy, force, height, landing_ellipse, path

__all__ = ["energy", "force", "height", "landing_ellipse", "path"]
