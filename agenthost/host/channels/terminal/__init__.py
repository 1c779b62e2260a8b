"""Terminals: shells and commands on real ptys that clients watch and type into."""
