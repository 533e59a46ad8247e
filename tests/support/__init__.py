"""What several tests share; importable in worker processes, which test modules need not be."""
