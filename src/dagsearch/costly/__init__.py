"""Problems whose steps are costly: every state tells something, and no step is taken twice."""
