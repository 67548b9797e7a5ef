"""The paper's figures and tables, rerun and compared: ``tunamh reproduce``."""
