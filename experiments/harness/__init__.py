"""Shared by all experiments: the runner, files, pictures, tables in pages, and other people's methods."""
