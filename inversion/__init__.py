"""inversion: gradient-based inversion of forward models; knows no physics."""
