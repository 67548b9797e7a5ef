"""``-log Phi(z)``, the energy of a label behind the probit link and of a censored normal error."""

from __future__ import annotations

from ...compiled import CONTRACT, helper
from ...compiled.vector import exp_negative, log_quotient, normal_tail


@helper(fastmath=CONTRACT, inline=True)
def _scaled_cdf(z):
    """``Phi(z) e^{m^2/2}``, ``m = max(-z, 0)``: what is left of ``Phi`` far out, without the part that underflows."""
    tail = normal_tail(abs(z))
    return tail if z < 0.0 else 1.0 - tail * exp_negative(-0.5 * z * z)


@helper(fastmath=CONTRACT, inline=True)
def probit_energy(z):
    """Return ``-log Phi(z)``."""
    m = max(-z, 0.0)
    return 0.5 * m * m - log_quotient(_scaled_cdf(z), 1.0)


@helper(fastmath=CONTRACT, inline=True)
def probit_rise(z, z_prop):
    m, m_prop = max(-z, 0.0), max(-z_prop, 0.0)
    return 0.5 * (m_prop - m) * (m_prop + m) + log_quotient(_scaled_cdf(z), _scaled_cdf(z_prop))
