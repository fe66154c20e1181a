"""Many focused random walks that exchange their elites."""
