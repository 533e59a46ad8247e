r"""Gaussian regression on a tree by message passing: a Brownian walk along every path.

A child's value is its parent's plus an independent step, so that the covariance of two nodes is that of the
part of their paths that they share. The posterior follows in time linear in the number of nodes:

==================  =====================  =======================================================
symbol              code                   meaning
==================  =====================  =======================================================
τ_i, h_i            up_precision, _info    likelihood of all observations below node i, as a function
                                           of its value: precision and precision times mean
τ/(1+τξ), h/(1+τξ)  —                      the same, seen from the parent, a step of variance ξ away
m_i, V_i            mean, variance         marginal of node i's value given all observations
==================  =====================  =======================================================

Down again: given the parent's value and the observations below the child, the child's value has mean
(parent + ξh)/(1 + ξτ) and variance ξ/(1 + ξτ), whatever the other observations are.
"""

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray


@compiled
def pass_messages(
    parent: IntArray,
    precision: FloatArray,
    info: FloatArray,
    root_mean: float,
    root_var: float,
    step: float,
    mean: FloatArray,
    variance: FloatArray,
) -> None:
    """Marginals of all nodes; parents come before their children."""
    nodes = parent.size
    up_precision, up_info = precision[:nodes].copy(), info[:nodes].copy()
    for node in range(nodes - 1, 0, -1):
        lost = 1.0 + step * up_precision[node]
        up_precision[parent[node]] += up_precision[node] / lost
        up_info[parent[node]] += up_info[node] / lost
    lost = 1.0 + root_var * up_precision[0]
    variance[0] = root_var / lost
    mean[0] = (root_mean + root_var * up_info[0]) / lost
    for node in range(1, nodes):
        lost = 1.0 + step * up_precision[node]
        mean[node] = (mean[parent[node]] + step * up_info[node]) / lost
        variance[node] = step / lost + variance[parent[node]] / (lost * lost)
