"""The common parts of all particle methods: neighbour lists, sums over pairs, and the interface of a model.

Runs make and update the lists by themselves. A particle method of your own starts from `model.AbstractParticles`.
"""
