"""Problems with costly steps: every state is informative, and no step is taken twice."""
