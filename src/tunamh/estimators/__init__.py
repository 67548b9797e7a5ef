"""scikit-learn estimators whose fit is a posterior: the extra ``sklearn`` (docs/sklearn.md).

`BayesianGLM`, `BayesianRobustRegression` (regressors) and `BayesianLogisticRegression` (a classifier) stand in
pipelines, searches and cross-validation as any other estimator. What `tunamh.sample` returns is their attribute
``posterior_``.
"""

try:
    import sklearn  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError("the estimators need scikit-learn: pip install 'tunamh[sklearn]'") from error

from .classifiers import BayesianLogisticRegression
from .regressors import BayesianGLM, BayesianRobustRegression

__all__ = ["BayesianGLM", "BayesianLogisticRegression", "BayesianRobustRegression"]
