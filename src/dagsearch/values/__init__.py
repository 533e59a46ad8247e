"""The explored DAG and the optimal values v of its nodes."""
