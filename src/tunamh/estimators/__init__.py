"""scikit-learn estimators that sample the posterior (docs/sklearn.md).

`BayesianGLM` and `BayesianRobustRegression` are regressors, `BayesianLogisticRegression` is a classifier. They work in
pipelines, grid searches and cross-validation. ``fit`` stores the result of `tunamh.sample` in the attribute
``posterior_``. They need scikit-learn: install tunamh with the extra ``sklearn``.
"""

try:
    import sklearn  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError("the estimators need scikit-learn: pip install 'tunamh[sklearn]'") from error

from .classifiers import BayesianLogisticRegression
from .regressors import BayesianGLM, BayesianRobustRegression

__all__ = ["BayesianGLM", "BayesianLogisticRegression", "BayesianRobustRegression"]
