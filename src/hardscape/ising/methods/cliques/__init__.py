"""Branch and bound under clique covers of conflicts, for QUBOs with penalties."""
