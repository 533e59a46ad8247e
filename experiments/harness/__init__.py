"""What all experiments share: the runner, files, pictures, tables in pages, and other people's methods."""
