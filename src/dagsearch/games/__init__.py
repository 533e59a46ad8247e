"""Games: what playing them takes beyond searching."""
