"""Is what the library states true? Every probability and interval against data that it was not made from."""
